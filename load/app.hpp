// app: command line of wattle-load: `wattle-load http URL`, `wattle-load resource`.
// Errors   printed on stderr with a fix; exit 1: no answer, or an environment error; 2: usage
// Threads  main thread
#pragma once

namespace wattle::load {

int run_app(int argc, char** argv);

}  // namespace wattle::load
