# bpf.cmake: compiles BPF programs with clang into skeleton headers. They use local minimal kernel types (CO-RE, no
# vmlinux.h).

pkg_check_modules(Bpf REQUIRED IMPORTED_TARGET libbpf)                # agent/bpf
find_program(WATTLE_BPF_CLANG NAMES clang clang-14 REQUIRED)
find_program(WATTLE_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

# wattle_bpf_skeletons(target a.bpf.c b.bpf.c): adds an interface library that provides a.skel.h and b.skel.h.
function(wattle_bpf_skeletons target)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/skeletons")
  file(MAKE_DIRECTORY "${folder}")
  set(headers)
  foreach(source IN LISTS ARGN)
    get_filename_component(name "${source}" NAME)
    string(REPLACE ".bpf.c" "" name "${name}")
    set(object "${folder}/${name}.bpf.o")
    set(header "${folder}/${name}.skel.h")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${WATTLE_BPF_CLANG}" -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror
              -I "${PROJECT_SOURCE_DIR}" -idirafter "${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}"
              -MD -MF "${object}.d" -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
              -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${source}" DEPFILE "${object}.d"
      COMMENT "Compiling BPF program ${name}" VERBATIM)
    add_custom_command(
      OUTPUT "${header}"
      COMMAND "${WATTLE_BPFTOOL}" gen skeleton "${object}" name ${name} > "${header}"
      DEPENDS "${object}" COMMENT "Generating ${name}.skel.h" VERBATIM)
    list(APPEND headers "${header}")
  endforeach()
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_headers)
  target_include_directories(${target} SYSTEM INTERFACE "${folder}")
  target_link_libraries(${target} INTERFACE PkgConfig::Bpf)
endfunction()
