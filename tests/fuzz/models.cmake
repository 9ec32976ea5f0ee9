# The parser is compiled in, so that libFuzzer sees its branches and the sanitizers its reads.
add_executable(models_safetensors_fuzz
  "${CMAKE_CURRENT_LIST_DIR}/models_safetensors_fuzz.cpp" "${PROJECT_SOURCE_DIR}/models/frozen/safetensors.cpp")
target_compile_options(models_safetensors_fuzz PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
target_link_options(models_safetensors_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
target_link_libraries(models_safetensors_fuzz PRIVATE wattle_options wattle_models_frozen nlohmann_json::nlohmann_json)
# Seeded by hand; new finds go to the build tree, not into the source.
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/models_safetensors_found")
add_test(NAME models_safetensors_fuzz
  COMMAND models_safetensors_fuzz -runs=50000 -max_len=4096 -seed=1
    "${CMAKE_CURRENT_BINARY_DIR}/models_safetensors_found" "${CMAKE_CURRENT_LIST_DIR}/corpus/models_safetensors")
set_tests_properties(models_safetensors_fuzz PROPERTIES LABELS fuzz TIMEOUT 120)
