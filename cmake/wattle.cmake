# wattle.cmake: how a Wattle library, program or test is declared; warnings, linker, compiler cache, sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(WATTLE_CCACHE ccache)
if(WATTLE_CCACHE)
  # Hashes paths relative to the source tree, so that checkouts share compiled objects.
  set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    "CCACHE_IGNOREOPTIONS=-ffile-prefix-map=*" "${WATTLE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
find_program(WATTLE_MOLD mold)
if(WATTLE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Debug symbols and asserts name files relative to the root of the tree, so that every folder gives the same bytes.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")

# Hardens released programs (tests/lint/hardening.py checks it), and removes unreachable sections.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-fstack-protector-strong -D_FORTIFY_SOURCE=2 -ffunction-sections -fdata-sections)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    add_compile_options(-mbranch-protection=standard)
  else()
    add_compile_options(-fcf-protection=full)
  endif()
  add_link_options(-pie -Wl,-z,relro,-z,now -Wl,--gc-sections)
endif()

add_library(wattle_options INTERFACE)
target_include_directories(wattle_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(wattle_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers)
target_compile_definitions(wattle_options INTERFACE WATTLE_VERSION="${PROJECT_VERSION}")
# Unity builds: g++ treats the included sources as headers, and warns about names of other files. The presets dev and
# clang compile each file separately.
if(CMAKE_UNITY_BUILD)
  target_compile_options(wattle_options INTERFACE $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-subobject-linkage,-Wno-shadow>)
endif()
if(WATTLE_WERROR)
  target_compile_options(wattle_options INTERFACE -Werror)
endif()
# Factor of the waits of tests (WATTLE_PATIENCE, which scripts/run-tests reads here) and of ctest's TIMEOUT.
set(patience 1)
if(WATTLE_SANITIZE MATCHES "thread")
  set(patience 8)
elseif(WATTLE_SANITIZE)
  set(patience 4)
endif()
set(WATTLE_PATIENCE ${patience} CACHE INTERNAL "Factor of the waits of tests")
if(WATTLE_SANITIZE)
  add_compile_options(-fsanitize=${WATTLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WATTLE_SANITIZE})
  add_compile_definitions(WATTLE_SANITIZED)
endif()

# wattle_library(name SOURCES a.cpp b.cpp USES target ... PRIVATE target ...)
function(wattle_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC wattle_options ${arg_USES} PRIVATE ${arg_PRIVATE})
endfunction()

# wattle_program(name MANUAL section [COMPLETED] [COMPONENT sim] SOURCES main.cpp USES target ...): adds a program to
# the component of its name in cmake/packages.cmake, or to COMPONENT; wattle belongs to `cli`. After each link, the
# program prints its manual page and, with COMPLETED, its shell completions.
function(wattle_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPLETED" "MANUAL;COMPONENT" "SOURCES;USES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE wattle_options ${arg_USES})
  string(REPLACE "wattle-" "" component ${name})
  string(REGEX REPLACE "^wattle$" "cli" component ${component})
  if(arg_COMPONENT)
    set(component ${arg_COMPONENT})
  endif()
  install(TARGETS ${name} RUNTIME COMPONENT ${component})
  # Instrumented programs are not installed, and a sanitizer's report must not fail the build. Programs for another
  # machine do not run here.
  if(WATTLE_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(shown "${CMAKE_BINARY_DIR}/shown")
  file(MAKE_DIRECTORY "${shown}")
  set(page "${shown}/${name}.${arg_MANUAL}")
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND $<TARGET_FILE:${name}> --man-page ${arg_MANUAL} > "${page}"
    COMMAND gzip -9nkf "${page}"
    BYPRODUCTS "${page}" "${page}.gz" VERBATIM)
  install(FILES "${page}.gz" DESTINATION "share/man/man${arg_MANUAL}" COMPONENT ${component})
  if(arg_COMPLETED)
    foreach(shell IN ITEMS bash zsh fish)
      add_custom_command(TARGET ${name} POST_BUILD COMMAND $<TARGET_FILE:${name}> completion ${shell} > "${shown}/${name}.${shell}"
        BYPRODUCTS "${shown}/${name}.${shell}" VERBATIM)
    endforeach()
    # Folders that Debian's shells search.
    install(FILES "${shown}/${name}.bash" DESTINATION share/bash-completion/completions RENAME ${name} COMPONENT ${component})
    install(FILES "${shown}/${name}.zsh" DESTINATION share/zsh/vendor-completions RENAME _${name} COMPONENT ${component})
    install(FILES "${shown}/${name}.fish" DESTINATION share/fish/vendor_completions.d COMPONENT ${component})
  endif()
endfunction()

# Common part of all test programs: doctest's main, and the paths of fixtures and programs. Tests are compiled without
# optimisation, because they are most of the code; the tested libraries are optimised.
if(WATTLE_TESTS)
  add_library(wattle_test_main OBJECT "${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp"
    "${PROJECT_SOURCE_DIR}/tests/patience.cpp" "${PROJECT_SOURCE_DIR}/tests/places.cpp")
  target_link_libraries(wattle_test_main PUBLIC wattle_options wattle_doctest)
  target_compile_options(wattle_test_main PUBLIC -O0 -U_FORTIFY_SOURCE)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/places.cpp" PROPERTIES
    COMPILE_DEFINITIONS "WATTLE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";WATTLE_BIN_DIR=\"${CMAKE_BINARY_DIR}/bin\"")
endif()

# The class of a test is one of its labels (CONTRIBUTING.md, "Tests"): `pure` must always pass the first time; `live` may
# run a second time after a failure; `timed` makes a statement about time and runs only in scripts/test-long.
set(WATTLE_TEST_CLASSES pure live timed)

# At the end of each CMakeLists.txt, checks that each of its tests has a class, and scales its TIMEOUT by WATTLE_PATIENCE.
function(add_test)
  _add_test(${ARGV})
  cmake_language(DEFER GET_CALL_IDS calls)
  if(NOT "wattle_tests" IN_LIST calls)
    cmake_language(DEFER ID wattle_tests CALL wattle_finish_tests)
  endif()
endfunction()
function(wattle_finish_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_test_property(${test} LABELS labels)
    set(classes ${labels})
    list(FILTER classes INCLUDE REGEX "^(pure|live|timed)$")
    list(LENGTH classes count)
    if(NOT count EQUAL 1)
      message(SEND_ERROR "test ${test} has the labels '${labels}': it needs exactly one of the classes pure, live and timed (CONTRIBUTING.md)")
    endif()
    get_test_property(${test} TIMEOUT seconds)
    if(NOT seconds)
      message(SEND_ERROR "test ${test} has no TIMEOUT: a test that hangs would end the whole run")
    else()
      math(EXPR seconds "${seconds} * ${WATTLE_PATIENCE}")
      set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
    endif()
  endforeach()
endfunction()

# wattle_test(name CLASS pure LABEL unit SOURCES a_test.cpp ... [LIVE b_test.cpp ...] [TIMED] USES target ...
#             [TIMEOUT seconds]): declares one doctest program.
# CLASS is the class of its ctest entry. The files after LIVE are compiled into the same program and run as a second
# entry, name_live. With TIMED, the cases of TEST_SUITE("timed") are a further entry, name_timed.
# The timeout ends a test that hangs, and does not judge its speed; sanitizers scale it. Under sanitizers, properties have
# 25 samples instead of 100, and cases of TEST_SUITE("statistical"), which repeat the same code for an average, do not run.
function(wattle_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TIMED" "CLASS;LABEL;TIMEOUT" "SOURCES;LIVE;USES")
  add_executable(${name} ${arg_SOURCES} ${arg_LIVE})
  target_link_libraries(${name} PRIVATE wattle_options wattle_test_main ${arg_USES})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  set(left_out)
  if(WATTLE_SANITIZE)
    set(left_out statistical)
  endif()
  if(arg_TIMED)
    list(APPEND left_out timed)
    wattle_test_entry(${name}_timed timed -ts=timed)
  endif()
  if(left_out)
    list(JOIN left_out "," left_out)
    set(left_out "-tse=${left_out}")
  endif()
  set(here)
  if(arg_LIVE)
    list(TRANSFORM arg_LIVE PREPEND "*/" OUTPUT_VARIABLE files)
    list(JOIN files "," files)
    wattle_test_entry(${name}_live live "-sf=${files}" ${left_out})
    set(here "-sfe=${files}")
  endif()
  wattle_test_entry(${name} "${arg_CLASS}" ${here} ${left_out})
endfunction()
# Adds one ctest entry of the program `name` of the calling wattle_test.
macro(wattle_test_entry entry class)
  add_test(NAME ${entry} COMMAND ${name} ${ARGN})
  # A fixed seed, because rapidcheck otherwise draws another one each time, and a failed run must be repeatable.
  set(params "seed=20240607")
  if(WATTLE_SANITIZE)
    string(APPEND params " max_success=25")
  endif()
  set_tests_properties(${entry} PROPERTIES LABELS "${class};doctest;${arg_LABEL}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "RC_PARAMS=${params}")
endmacro()
