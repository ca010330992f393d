# The part of libclc that kernels for NVIDIA GPUs call, in LLVM bitcode; codegen/nvptx/math.c holds it.
find_file(LIBCLC_FILE nvptx64--.bc PATHS /usr/lib/clc /usr/share/clc ${LLVM_BIN_DIR}/../lib/clc NO_DEFAULT_PATH
  REQUIRED DOC "libclc's functions, of the package libclc-22")
find_program(LLVM_OPT NAMES opt opt-22 HINTS ${LLVM_BIN_DIR} REQUIRED DOC "LLVM's opt, of the package llvm-22")

# C++'s names of the functions, of float32 and of float64.
set(LIBCLC_FUNCTIONS)
foreach(name sin cos tan asin acos atan cbrt erf erfc tgamma lgamma)
  string(LENGTH ${name} length)
  list(APPEND LIBCLC_FUNCTIONS _Z${length}${name}f _Z${length}${name}d)
endforeach()
foreach(name hypot)
  string(LENGTH ${name} length)
  list(APPEND LIBCLC_FUNCTIONS _Z${length}${name}ff _Z${length}${name}dd)
endforeach()
list(JOIN LIBCLC_FUNCTIONS "," LIBCLC_LIST)

# These, what they call and the tables that they read.
set(ROCLUA_CLC_FILE ${CMAKE_CURRENT_BINARY_DIR}/libclc.bc)
add_custom_command(OUTPUT ${ROCLUA_CLC_FILE}
  COMMAND ${LLVM_OPT} -passes=internalize,globaldce -internalize-public-api-list=${LIBCLC_LIST} ${LIBCLC_FILE}
    -o ${ROCLUA_CLC_FILE}
  DEPENDS ${LIBCLC_FILE} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
set_source_files_properties(codegen/nvptx/math.c PROPERTIES
  COMPILE_DEFINITIONS ROCLUA_CLC_FILE="${ROCLUA_CLC_FILE}" OBJECT_DEPENDS ${ROCLUA_CLC_FILE})
