// power_states: shows the power states of nodes in the documents of docs/reference/api.md.
// Errors   none; a missing value shows as "-" or as nothing
// Threads  any
#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

// The power state of an object with `state`.
Cell power_cell(const View& power);
// True if Wattle put the node to sleep or is waking it, so that its agent may be silent.
bool may_be_silent(const View& node);
// ", 2 asleep" of the document `status`; empty if there are none.
std::string asleep_text(const View& status);

void declare_sleep_status(CLI::App& command, Run& chosen);
void declare_sleep_history(CLI::App& command, Run& chosen);
Result<std::string> render_sleep_status(const Json& document, const Style& style);
Result<std::string> render_sleep_history(const Json& document, const Style& style);
// Render the answers to orders about sleep.
Result<std::string> render_sleep_wake(const Json& document, const Style& style);
Result<std::string> render_sleep_test(const Json& document, const Style& style);

}  // namespace wattle::cli
