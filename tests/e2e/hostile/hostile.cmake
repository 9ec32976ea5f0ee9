# Hostile peers against the real controller; their client is zmtp.py.
foreach(name IN ITEMS transport)
  add_test(NAME hostile_${name}_test COMMAND python3 "${CMAKE_CURRENT_LIST_DIR}/${name}_test.py" "${CMAKE_BINARY_DIR}/bin")
  set_tests_properties(hostile_${name}_test PROPERTIES LABELS "live;e2e" TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
