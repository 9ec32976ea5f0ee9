# dependencies.cmake: declares each third-party library once, as an imported target with SYSTEM headers.
# The comment after a library names the only place that may link it; tests/lint enforces this.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)


# libzmq with cmake/zeromq/limits.patch, built by scripts/zeromq. Programs link it statically, so that no unpatched
# libzmq can replace it at run time. Sanitized builds link it dynamically: sanitizers ignore shared libraries that are
# not instrumented.
if(CMAKE_CROSSCOMPILING)
  set(WATTLE_ZEROMQ "${CMAKE_SYSROOT}/zeromq")  # scripts/sysroot
else()
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/zeromq" --print OUTPUT_VARIABLE WATTLE_ZEROMQ OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/zeromq" "${PROJECT_SOURCE_DIR}/cmake/zeromq/limits.patch")
if(NOT EXISTS "${WATTLE_ZEROMQ}/lib/libzmq.a")
  message(FATAL_ERROR "libzmq with cmake/zeromq/limits.patch is not in ${WATTLE_ZEROMQ}: run scripts/setup, or scripts/zeromq alone. "
                      "Without the patch, any admitted peer can fill the controller's memory or end it.")
endif()
if(WATTLE_SANITIZE)
  set(zeromq_kind so)
else()
  set(zeromq_kind a)
endif()
# Packages that the page is built from, pinned in web/package-lock.json.
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/web" --print OUTPUT_VARIABLE WATTLE_WEB OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/web" "${PROJECT_SOURCE_DIR}/web/package-lock.json")
if(NOT EXISTS "${WATTLE_WEB}/node_modules/uplot/LICENSE")
  message(FATAL_ERROR "the packages of the controller's page are not in ${WATTLE_WEB}: run scripts/setup, or scripts/web alone.")
endif()
pkg_check_modules(Sodium REQUIRED IMPORTED_TARGET libsodium)          # common/base64
add_library(wattle_zeromq UNKNOWN IMPORTED)                           # common/transport
set_target_properties(wattle_zeromq PROPERTIES
  IMPORTED_LOCATION "${WATTLE_ZEROMQ}/lib/libzmq.${zeromq_kind}"
  INTERFACE_INCLUDE_DIRECTORIES "${WATTLE_ZEROMQ}/include"
  INTERFACE_LINK_LIBRARIES "PkgConfig::Sodium;Threads::Threads")
# cppzmq is one header on the compiler's default path. It includes the zmq.h above, which precedes it in the path.
find_path(CPPZMQ_INCLUDE zmq.hpp REQUIRED)                            # common/transport
find_package(spdlog REQUIRED)                                         # common/log
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)                                           # command lines, in .cpp files
pkg_check_modules(YamlCpp REQUIRED IMPORTED_TARGET yaml-cpp)          # common/config
find_package(OpenSSL REQUIRED)                                        # common/http, common/digest
find_package(Boost 1.74 REQUIRED)                                     # common/http, common/stats/distributions.cpp, load/users.cpp
# Asio and Beast, compiled once in common/http/boost_sources.cpp. Boost's own assertions stay on;
# common/http/boost_assert.cpp handles them.
add_library(wattle_asio INTERFACE)
target_compile_definitions(wattle_asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ENABLE_ASSERT_HANDLER)
target_link_libraries(wattle_asio INTERFACE Boost::headers OpenSSL::SSL)
pkg_check_modules(PrometheusCore REQUIRED IMPORTED_TARGET prometheus-cpp-core)  # /metrics pages, in .cpp files
find_package(SQLite3 REQUIRED)                                        # common/sqlite
pkg_check_modules(MuParser REQUIRED IMPORTED_TARGET muparser)         # placement/worth/expression
find_package(ZLIB REQUIRED)                                           # sim/scenarios/gzip
find_package(prometheus-cpp REQUIRED CONFIG)                          # agent and controller metrics; core only
pkg_check_modules(Cap REQUIRED IMPORTED_TARGET libcap)                # agent/privileges, actuator/sandbox
pkg_check_modules(Ncurses REQUIRED IMPORTED_TARGET ncursesw)          # cli/top/terminal
pkg_check_modules(Seccomp REQUIRED IMPORTED_TARGET libseccomp)        # actuator/sandbox
pkg_check_modules(Systemd REQUIRED IMPORTED_TARGET libsystemd)        # actuator/unit_bus, agent/power

# msgpack-cxx without its optional Boost parts.
add_library(wattle_msgpack INTERFACE)                                 # common/wire
target_compile_definitions(wattle_msgpack INTERFACE MSGPACK_NO_BOOST)

if(WATTLE_TORCH)
  # Debian's TorchConfig adds compiler flags to every target that uses it, so link the libraries by name instead.
  find_library(TORCH_LIBRARY torch REQUIRED)
  find_library(TORCH_CPU_LIBRARY torch_cpu REQUIRED)
  find_library(C10_LIBRARY c10 REQUIRED)
  find_path(TORCH_API_INCLUDE torch/torch.h PATHS /usr/include/torch/csrc/api/include REQUIRED)
  add_library(wattle_torch_dep INTERFACE)                             # models/torch
  target_include_directories(wattle_torch_dep SYSTEM INTERFACE "${TORCH_API_INCLUDE}")
  target_link_libraries(wattle_torch_dep INTERFACE ${TORCH_LIBRARY} ${TORCH_CPU_LIBRARY} ${C10_LIBRARY})
endif()

if(WATTLE_TESTS)
  find_package(doctest REQUIRED)
  add_library(wattle_doctest INTERFACE)
  target_link_libraries(wattle_doctest INTERFACE doctest::doctest)
  find_package(rapidcheck REQUIRED)                                   # properties, in tests only
endif()
