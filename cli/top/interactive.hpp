// interactive: runs `wattle top` on a terminal until the user presses q.
// Gives    the exit code
// Errors   the terminal's; a feed that refuses our key; missing answers of the controller are shown and retried
// Threads  main, and the feeder's
#pragma once

#include "cli/command.hpp"
#include "cli/controller.hpp"
#include "cli/screen.hpp"

namespace wattle::cli::top {

// Returns whether the terminal has a screen and a keyboard, and no document is requested.
bool can_interact(const Invocation& invocation);
Result<int> interact(const Invocation& invocation, Controller& controller, const StopKeys& stop);

}  // namespace wattle::cli::top
