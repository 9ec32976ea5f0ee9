# Tests the Python package with `wattle-sim env`.
find_program(WATTLE_PYTHON python3 REQUIRED)
set(package_tests "${PROJECT_SOURCE_DIR}/python/tests")
add_test(NAME integration_python_protocol COMMAND "${WATTLE_PYTHON}" "${package_tests}/protocol_test.py" "${CMAKE_BINARY_DIR}/bin/wattle-sim")
set_tests_properties(integration_python_protocol PROPERTIES LABELS "pure;integration" TIMEOUT 600)
add_test(NAME integration_python_gymnasium
  COMMAND "${WATTLE_PYTHON}" "${package_tests}/gymnasium_test.py" "${CMAKE_BINARY_DIR}/bin" "${CMAKE_CURRENT_BINARY_DIR}/gymnasium")
set_tests_properties(integration_python_gymnasium PROPERTIES LABELS "live;integration" TIMEOUT 600 SKIP_RETURN_CODE 77)
