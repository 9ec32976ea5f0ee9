# End-to-end tests on the real processes of one house (house.py).
function(wattle_e2e name)
  add_test(NAME ${name} COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/${name}.py" "${CMAKE_BINARY_DIR}/bin")
  set_tests_properties(${name} PROPERTIES LABELS e2e TIMEOUT 180 SKIP_RETURN_CODE 77)
endfunction()
wattle_e2e(live_state_test)
wattle_e2e(bad_input_test)
wattle_e2e(metrics_test)
wattle_e2e(keys_test)
