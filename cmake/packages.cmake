# packages.cmake: defines one Debian package per program for CPack; scripts/package builds them.
# Package `wattle` holds what every machine with a part of Wattle needs: command line, users, folders, documentation.

set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wattle)
set(CPACK_PACKAGE_CONTACT "Wattle maintainers <maintainers@users.noreply.wattle.dev>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL cli agent actuator controller shim sim)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)

set(made "${CMAKE_BINARY_DIR}/packaging")

# wattle_package(component name SUMMARY "..." TEXT "..." [DEPENDS ...] [RECOMMENDS ...] [CONFFILES /etc/...]
#                [KIND kind] [SCRIPTS postinst ...] [SETUP command] [OWN paths])
#   SCRIPTS  maintainer scripts, from packaging/KIND.SCRIPT; KIND is `daemon` for a package with a unit of its own name,
#            else the package's name
#   SETUP    commands that postinst runs
#   OWN      paths that a purge removes; `wattle restore` creates *.replaced-* and *.restored
function(wattle_package component name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SUMMARY;TEXT;KIND;SETUP;OWN" "DEPENDS;RECOMMENDS;CONFFILES;SCRIPTS")
  string(TOUPPER ${component} upper)
  list(JOIN arg_DEPENDS ", " depends)
  list(JOIN arg_RECOMMENDS ", " recommends)
  set(control)
  set(WATTLE_UNIT ${name}.service)
  set(WATTLE_SETUP "${arg_SETUP}")
  set(WATTLE_OWN "${arg_OWN}")
  foreach(script IN LISTS arg_SCRIPTS)
    configure_file("packaging/${arg_KIND}.${script}" "${made}/${name}/${script}" @ONLY)
    file(CHMOD "${made}/${name}/${script}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND control "${made}/${name}/${script}")
  endforeach()
  if(arg_CONFFILES)
    list(JOIN arg_CONFFILES "\n" conffiles)
    file(CONFIGURE OUTPUT "${made}/${name}/conffiles" CONTENT "${conffiles}\n")
    list(APPEND control "${made}/${name}/conffiles")
  endif()
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION admin PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_TEXT}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}" PARENT_SCOPE)
  install(FILES packaging/copyright DESTINATION share/doc/${name} COMPONENT ${component})
  # scripts/package creates this file with the date of the commit
  install(FILES "${made}/changelog.gz" DESTINATION share/doc/${name} COMPONENT ${component} OPTIONAL)
endfunction()

set(same "wattle (= ${PROJECT_VERSION})")
wattle_package(cli wattle
  SUMMARY "place workloads where they use the least energy: command line"
  TEXT "Shows nodes, pods and decisions, explains why a pod was placed on its node,
adds machines, and manages keys. Contains the users, folders and documentation
of all parts of Wattle."
  DEPENDS "systemd (>= 252)" KIND wattle SCRIPTS postinst postrm)
wattle_package(agent wattle-agent
  SUMMARY "measure energy, use, pressure and latency of a machine"
  TEXT "Sends one sample a second to wattle-controller and exports metrics for
Prometheus. It starts after the machine has joined (wattle join)."
  DEPENDS "${same}" KIND daemon SCRIPTS postinst prerm postrm
  SETUP "systemd-tmpfiles --create wattle.conf\n/lib/systemd/systemd-sysctl 60-wattle.conf || true"
  OWN "/var/lib/wattle /etc/wattle/agent.yaml /etc/wattle/agent.key /etc/wattle/agent.key.pub")
wattle_package(actuator wattle-actuator
  SUMMARY "set limits of CPU and memory, and restore the original limits"
  TEXT "Works beside wattle-agent or alone, on the services in its configuration. It
starts after /etc/wattle/actuator.yaml exists. It sets limits of units through
systemd over the system's D-Bus."
  DEPENDS "${same}" RECOMMENDS "default-dbus-system-bus | dbus-system-bus" KIND daemon SCRIPTS postinst prerm postrm
  SETUP "systemd-tmpfiles --create wattle.conf"
  OWN "/run/wattle-actuator /etc/wattle/actuator.yaml")
wattle_package(controller wattle-controller
  SUMMARY "decide where workloads use the least energy, and learn"
  TEXT "Receives the measurements of wattle-agent and answers wattle-shim. Begins in
mode shadow, in which it decides but does not act."
  DEPENDS "${same}" "libopenblas0-pthread" CONFFILES /etc/wattle/controller.yaml KIND daemon SCRIPTS postinst prerm postrm
  SETUP "# The controller reports an invalid configuration at its start; dpkg continues\nwattle keys controller || true\nif [ -e /etc/wattle/controller.key.pub ] && [ ! -e /etc/wattle/controller.pub ]; then cp /etc/wattle/controller.key.pub /etc/wattle/controller.pub; fi\nsystemd-tmpfiles --create wattle.conf"
  OWN "/var/lib/wattle-controller /etc/wattle/controller.key /etc/wattle/controller.key.* /etc/wattle/enrol.pem /etc/wattle/enrol.key /etc/wattle/operator.key /etc/wattle/cli.yaml /etc/wattle/*.replaced-* /etc/wattle/*.restored")
wattle_package(shim wattle-shim
  SUMMARY "answer kube-scheduler as an extender with Wattle's decisions"
  TEXT "Never makes a pod fail: without the controller it answers from the last board,
then neutral. It starts after /etc/wattle/shim.key exists."
  DEPENDS "${same}" CONFFILES /etc/wattle/shim.yaml KIND daemon SCRIPTS postinst prerm postrm
  SETUP "systemd-tmpfiles --create wattle.conf"
  OWN "/etc/wattle/shim.key /etc/wattle/shim.key.pub")
wattle_package(sim wattle-sim
  SUMMARY "simulate clusters to compare Wattle's policies"
  TEXT "Places pods with the code of wattle-controller. It also simulates nodes and a
scheduler for real parts of Wattle. wattle-load applies load: users of an HTTP
service, or use of a machine's CPU, memory, disk and network."
  DEPENDS "libopenblas0-pthread" RECOMMENDS "stress-ng")

# Plugin link: kubectl runs it as `kubectl wattle`
foreach(link IN ITEMS wattle:bin/kubectl-wattle wattle.1.gz:share/man/man1/kubectl-wattle.1.gz)
  string(REGEX MATCH "^(.*):(.*)/(.*)$" _ "${link}")
  file(CREATE_LINK "${CMAKE_MATCH_1}" "${made}/${CMAKE_MATCH_3}" SYMBOLIC)
  install(FILES "${made}/${CMAKE_MATCH_3}" DESTINATION "${CMAKE_MATCH_2}" COMPONENT cli)
endforeach()
install(FILES systemd/wattle.sysusers DESTINATION lib/sysusers.d RENAME wattle.conf COMPONENT cli)
install(FILES systemd/wattle.tmpfiles DESTINATION lib/tmpfiles.d RENAME wattle.conf COMPONENT cli)
install(DIRECTORY docs/ DESTINATION share/doc/wattle COMPONENT cli FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.json" PATTERN "openapi.yaml")
install(FILES CHANGELOG.md DESTINATION share/doc/wattle COMPONENT cli)
install(FILES systemd/wattle.sysctl DESTINATION lib/sysctl.d RENAME 60-wattle.conf COMPONENT agent)
install(FILES systemd/wattle-agent.service systemd/wattle-pcm.service DESTINATION /lib/systemd/system COMPONENT agent)
# Template that `wattle join` fills in
install(FILES systemd/etc/agent.yaml DESTINATION share/wattle COMPONENT agent)
# For nodes that may sleep; inactive until an operator installs them
install(FILES systemd/sleep/60-wattle-sleep.rules systemd/sleep/agent.conf systemd/sleep/shallow.conf DESTINATION share/wattle/sleep COMPONENT agent)
install(DIRECTORY k8s/chart/dashboards DESTINATION share/wattle COMPONENT controller FILES_MATCHING PATTERN "*.json")
install(DIRECTORY k8s/chart/alerts DESTINATION share/wattle COMPONENT controller FILES_MATCHING PATTERN "*.yaml")
install(FILES systemd/wattle-actuator.service DESTINATION /lib/systemd/system COMPONENT actuator)
install(FILES systemd/etc/actuator.yaml DESTINATION share/wattle COMPONENT actuator)
# Inactive until an operator starts the timer
install(FILES systemd/wattle-improve.service systemd/wattle-improve.timer DESTINATION /lib/systemd/system COMPONENT sim)
install(PROGRAMS systemd/wattle-improve DESTINATION lib/wattle COMPONENT sim)
foreach(part IN ITEMS controller shim)
  install(FILES systemd/wattle-${part}.service DESTINATION /lib/systemd/system COMPONENT ${part})
  install(FILES systemd/etc/${part}.yaml DESTINATION /etc/wattle COMPONENT ${part})
endforeach()

include(CPack)
