# teach.cmake: options without effect are refused before the teaching starts. Usage: -D SIM=wattle-sim -D FOLDER=scratch
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
file(WRITE "${FOLDER}/network" "no network")
foreach(asked IN ITEMS "--hours 0 --initial network" "--hours 0" "--hours 0 --rounds 0 --out x"
    "--teacher network --out x" "--teacher network --hours 5" "--teacher network --reward drpc"
    "--hours 0 --labels rule --reward drpc"
    "--rounds 0 --student-out x" "--rounds 0 --labels rule" "--hours 0 --rounds 0 --learning-rate 0.01")
  separate_arguments(words UNIX_COMMAND "${asked}")
  execute_process(COMMAND "${SIM}" teach ${words} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE code ERROR_VARIABLE wrong OUTPUT_QUIET)
  if(NOT code EQUAL 1 OR NOT wrong MATCHES "^wattle-sim: teach: --[a-z -]+: (no |there is no |neither |a teacher from a file )")
    message(FATAL_ERROR "teach ${asked} ended with ${code}: ${wrong}")
  endif()
endforeach()
