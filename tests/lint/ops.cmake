# Units, manifests and the configurations that come with them.
wattle_lint(lint_units "${WATTLE_PYTHON}" tests/lint/units_test.py --bin-dir "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
wattle_lint(lint_manifests "${WATTLE_PYTHON}" tests/lint/manifests_test.py)
set_tests_properties(lint_units lint_manifests PROPERTIES SKIP_RETURN_CODE 77)

# What is installed must be accepted by the very programs it is for.
function(wattle_config_accepted program)
  if(NOT TARGET ${program})
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;FILES")
  foreach(file IN LISTS arg_FILES)
    string(REGEX REPLACE "[/.]" "_" name "${file}")
    wattle_lint(config_accepted_${name} "$<TARGET_FILE:${program}>" ${arg_COMMAND} --config "${file}" --check-config)
  endforeach()
endfunction()
wattle_config_accepted(wattle-agent COMMAND run FILES systemd/etc/agent.yaml k8s/config/agent.yaml)
wattle_config_accepted(wattle-controller FILES systemd/etc/controller.yaml k8s/config/controller.yaml)
wattle_config_accepted(wattle-shim FILES systemd/etc/shim.yaml k8s/config/shim.yaml)
