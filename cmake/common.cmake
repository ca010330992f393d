# What the build of roclua and that of its emulator alone (src/emulator) have in common.
get_filename_component(ROCLUA_SRC ${CMAKE_CURRENT_LIST_DIR}/../src ABSOLUTE)

# ROCLUA_SANITIZE: e.g. "address,undefined" or "thread"; for every target.
set(ROCLUA_SANITIZE "" CACHE STRING "sanitizers to build with, as for -fsanitize=")
option(ROCLUA_WERROR "treat warnings as errors" OFF)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

include(CheckCCompilerFlag)
include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_program(LLVM_CONFIG NAMES llvm-config-22 REQUIRED)

# The folders of a build are those of an installation.  What the library opens at run time has a
# folder of its own, where no linker looks; its number is the one of libroclua.so.
set(ROCLUA_ABI 0)
set(ROCLUA_PRIVATE_FOLDER roclua/${ROCLUA_ABI})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_compile_definitions(_GNU_SOURCE)
if(ROCLUA_SANITIZE)
  add_compile_options(-fsanitize=${ROCLUA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ROCLUA_SANITIZE})
endif()

set(ROCLUA_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wno-missing-field-initializers) # the rest of a row is zero
if(ROCLUA_WERROR)
  list(APPEND ROCLUA_WARNINGS -Werror)
endif()

# Copies of structs, such as an array's 152 bytes.  Gcc's choice, `rep movs` and `rep stos`, takes
# some 30 cycles to begin with, and an operation on small arrays makes a dozen.
set(ROCLUA_STRUCTS)
check_c_compiler_flag("-mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign"
  ROCLUA_HAS_MEMCPY_STRATEGY)
if(ROCLUA_HAS_MEMCPY_STRATEGY)
  list(APPEND ROCLUA_STRUCTS
    $<$<COMPILE_LANGUAGE:C>:-mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign>
    $<$<COMPILE_LANGUAGE:C>:-mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign>)
endif()

# An object library of the files of src/NAME, without their specs.
function(roclua_layer name)
  cmake_parse_arguments(LAYER "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ROCLUA_SRC}/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "/codegen/entry\\.c$|/spec/|/dtif/")
  if(NOT sources)
    add_library(roc_${name} INTERFACE)
    return()
  endif()
  add_library(roc_${name} OBJECT ${sources})
  target_include_directories(roc_${name} PUBLIC ${ROCLUA_SRC})
  target_compile_options(roc_${name} PRIVATE ${ROCLUA_WARNINGS} ${ROCLUA_STRUCTS})
  target_link_libraries(roc_${name} PUBLIC ${LAYER_LINKS})
endfunction()

# LLVM comes as archives: of its shared library, twice as large, every process that compiles would relocate and touch
# much that nothing here uses, which takes 8 ms (docs/measuring.md).
function(roclua_llvm_config out)
  execute_process(COMMAND ${LLVM_CONFIG} --link-static ${ARGN} OUTPUT_VARIABLE text
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "-lPolly[A-Za-z]*" "" text "${text}") # listed, but only lld's own use of LLVM refers to it
  separate_arguments(text)
  set(${out} ${text} PARENT_SCOPE)
endfunction()
roclua_llvm_config(LLVM_INCLUDE_DIR --includedir)
roclua_llvm_config(LLVM_LIB_DIR --libdir)
roclua_llvm_config(LLVM_BIN_DIR --bindir)
set(LLVM_LINK_OPTIONS -Wl,--gc-sections)
if(EXISTS ${LLVM_BIN_DIR}/ld.lld) # a tenth of the time that GNU's takes
  list(APPEND LLVM_LINK_OPTIONS -fuse-ld=lld -B${LLVM_BIN_DIR})
endif()
