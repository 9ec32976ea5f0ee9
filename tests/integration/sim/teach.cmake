# teach.cmake: -D SIM=wattle-sim -D FOLDER=scratch. Options that have no effect are refused before the teaching starts.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
file(WRITE "${FOLDER}/network" "no network")
foreach(asked IN ITEMS "--hours 0 --initial network" "--hours 0" "--hours 0 --rounds 0 --out x" "--by lookahead --reward drpc" "--bound-futures 2"
    "--teacher network --out x" "--teacher network --hours 5" "--teacher network --by lookahead" "--teacher network --reward drpc"
    "--hours 0 --labels rule --discount 0.5" "--look-rounds 2" "--look-minutes 2" "--look-minute-price 1" "--by lookahead --steps-per-minute 2"
    "--rounds 0 --student-out x" "--rounds 0 --labels rule" "--hours 0 --rounds 0 --learning-rate 0.01")
  separate_arguments(words UNIX_COMMAND "${asked}")
  execute_process(COMMAND "${SIM}" teach ${words} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE code ERROR_VARIABLE wrong OUTPUT_QUIET)
  if(NOT code EQUAL 1 OR NOT wrong MATCHES "^wattle-sim: teach: --[a-z -]+: (no |there is no |neither |needs |a teacher from a file |lookaheads already )")
    message(FATAL_ERROR "teach ${asked} ended with ${code}: ${wrong}")
  endif()
endforeach()
