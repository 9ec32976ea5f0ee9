// app: command line of wattle-shim.
// Errors   printed on stderr; exit 0: stopped by a signal, or configuration valid; 1: environment error; 2: usage
#pragma once

namespace wattle::shim {

int run_app(int argc, char** argv);

}  // namespace wattle::shim
