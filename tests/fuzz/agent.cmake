# The parsers are compiled in, so that libFuzzer sees their branches and the sanitizers their reads.
function(agent_fuzz name)
  add_executable(${name} "${CMAKE_CURRENT_LIST_DIR}/${name}.cpp")
  foreach(source IN LISTS ARGN)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/${source}")
  endforeach()
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name} PRIVATE wattle_options wattle_common)
  # Seeded from the fixtures and by hand; new finds go to the build tree, not into the source.
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}_found")
  string(REPLACE "_fuzz" "" corpus ${name})
  add_test(NAME ${name}
    COMMAND ${name} -runs=100000 -max_len=4096 -seed=1
      "${CMAKE_CURRENT_BINARY_DIR}/${name}_found" "${CMAKE_CURRENT_LIST_DIR}/corpus/${corpus}")
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

agent_fuzz(agent_kernel_files_fuzz
  agent/attribute/shares.cpp agent/collect/cgroup.cpp agent/collect/cgroup_mount.cpp agent/collect/cgroup_tree.cpp
  agent/collect/estimate.cpp agent/collect/identity.cpp agent/collect/procfs.cpp agent/collect/psi.cpp common/parse.cpp)
agent_fuzz(agent_names_fuzz
  agent/collect/identity.cpp agent/collect/rapl.cpp common/parse.cpp)
