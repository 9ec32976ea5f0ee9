# Checks units, manifests and their configurations.
wattle_lint(lint_units "${WATTLE_PYTHON}" tests/lint/units_test.py --bin-dir "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
wattle_lint(lint_manifests "${WATTLE_PYTHON}" tests/lint/manifests_test.py)
wattle_lint(lint_chart "${WATTLE_PYTHON}" tests/lint/chart_test.py)
wattle_lint(lint_chart_values "${WATTLE_PYTHON}" tests/lint/chart_values.py "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
wattle_lint(lint_dashboards "${WATTLE_PYTHON}" k8s/dashboards.py --check)
wattle_lint(lint_alerts "${WATTLE_PYTHON}" tests/lint/alerts_test.py)
set_tests_properties(lint_units lint_manifests lint_chart lint_chart_values lint_alerts PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(lint_chart_values PROPERTIES TIMEOUT 1800)  # the controller loads its libraries for each document

# The programs must accept their installed configurations.
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
set(kept tests/fixtures/kept)  # of earlier releases
wattle_config_accepted(wattle-agent COMMAND run
  FILES systemd/etc/agent.yaml k8s/base/config/agent.yaml k8s/overlay/agent.yaml ${kept}/agent-0.1.0.yaml)
wattle_config_accepted(wattle-actuator COMMAND run FILES systemd/etc/actuator.yaml ${kept}/actuator-0.1.0.yaml)
wattle_config_accepted(wattle-controller FILES systemd/etc/controller.yaml k8s/base/config/controller.yaml ${kept}/controller-0.1.0.yaml)
wattle_config_accepted(wattle-shim FILES systemd/etc/shim.yaml k8s/base/config/shim.yaml ${kept}/shim-0.1.0.yaml)
# `wattle doctor --pre` must accept the scheduler's file that comes with it.
if(TARGET wattle)
  foreach(file IN ITEMS k8s/base/config/scheduler.yaml k8s/default-scheduler/scheduler.yaml k8s/base/scheduler.yaml)
    string(REGEX REPLACE "[/.]" "_" name "${file}")
    wattle_lint(doctor_accepts_${name} "$<TARGET_FILE:wattle>" doctor --pre --scheduler "${file}" --values tests/fixtures/chart/values.yaml)
  endforeach()
endif()
