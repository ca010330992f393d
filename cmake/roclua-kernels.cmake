# roclua_add_kernels(TARGET file.lua ... [TARGETS name ...] [DEPENDS file ...])
#
# Compiles the kernels of the scripts into the target, by rocluac.  For each file.lua there is a
# header file.h, with a struct of arguments and launchers for each kernel.  TARGETS: the processors
# to compile for; default: every x86-64 one.  DEPENDS: what else the scripts read.
function(roclua_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 KERNELS "" "" "TARGETS;DEPENDS")
  if(NOT KERNELS_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "roclua_add_kernels: no Lua file given")
  endif()
  if(NOT ROCLUA_ROCLUAC)
    message(FATAL_ERROR "roclua_add_kernels: no rocluac found; set ROCLUA_ROCLUAC to it")
  endif()
  if(NOT KERNELS_TARGETS)
    set(KERNELS_TARGETS cpu:x86-64-v3 cpu:x86-64)
  endif()
  set(options)
  foreach(name IN LISTS KERNELS_TARGETS)
    list(APPEND options -t ${name})
  endforeach()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels)
  file(MAKE_DIRECTORY ${folder})
  foreach(script IN LISTS KERNELS_UNPARSED_ARGUMENTS)
    get_filename_component(path ${script} ABSOLUTE)
    get_filename_component(name ${script} NAME_WE)
    add_custom_command(
      OUTPUT ${folder}/${name}.c ${folder}/${name}.h
      COMMAND ${ROCLUA_ROCLUAC} --emit=c ${options} -o ${folder}/${name} ${path}
      DEPENDS ${path} ${ROCLUA_ROCLUAC} ${KERNELS_DEPENDS}
      COMMENT "Compiling the kernels of ${script}"
      VERBATIM)
    target_sources(${target} PRIVATE ${folder}/${name}.c ${folder}/${name}.h)
  endforeach()
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
