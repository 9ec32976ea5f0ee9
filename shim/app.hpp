// app: the command line of wattle-shim.
// Errors   told on stderr; exit 0 stopped by a signal or configuration fine, 1 the world failed, 2 usage
#pragma once

namespace wattle::shim {

int run_app(int argc, char** argv);

}  // namespace wattle::shim
