// interactive: `wattle top` before a terminal, from the first picture to q.
// Gives    the exit code
// Errors   the terminal's; a feed that refuses our key; what the controller does not answer is shown, and asked again
// Threads  main, and the feeder's
#pragma once

#include "cli/command.hpp"
#include "cli/controller.hpp"
#include "cli/screen.hpp"

namespace wattle::cli::top {

// Whether somebody sits there who reads and types, and wants a picture rather than a document.
bool is_interactive(const Invocation& invocation);
Result<int> interact(const Invocation& invocation, Controller& controller, const StopKeys& stop);

}  // namespace wattle::cli::top
