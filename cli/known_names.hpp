// known_names: names of nodes, pods and networks of the running controller, for shell completion.
// Source   the controller that the typed options name; labels NODE, POD and NETWORK of operands and options
// Bounds   one second, after which the process ends without output; at most 1,000 names
// Errors   none: no names
// Threads  main only
#pragma once

#include "cli/command.hpp"
#include "common/cmdline/completion.hpp"

namespace wattle::cli {

cmdline::KnownValues known_names(Surroundings& around);

}  // namespace wattle::cli
