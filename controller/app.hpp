// app: runs the program wattle-controller: options, configuration and signals.
// Errors   exit codes: 0 stopped by a signal, or the configuration is valid; 1 could not start; 2 wrong usage
// Threads  main thread
#pragma once

namespace wattle::controller {

int run_app(int argc, char** argv);

}  // namespace wattle::controller
