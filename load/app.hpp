// app: what is typed: `wattle-load http URL`, `wattle-load resource`.
// Errors   exit 1: nothing was answered, or the world refused; exit 2: usage; each is told on standard error with its mend
// Threads  main thread
#pragma once

namespace wattle::load {

int run_app(int argc, char** argv);

}  // namespace wattle::load
