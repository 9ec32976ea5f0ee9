// app: command line of wattle-actuator: run, restore, doctor, status.
// Gives    exit code 0: success; 1: failure, printed on stderr; 2: wrong usage or configuration
// Threads  single owner
#pragma once

namespace wattle::actuator {

int run_app(int argc, char** argv);

}  // namespace wattle::actuator
