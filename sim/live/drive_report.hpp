// drive_report: the driver's output: a table that is redrawn each second on a terminal, otherwise a line, and the
// summary.
// Units    in every heading
// Errors   none
// Threads  pure functions of the driver's state
#pragma once

#include <string>

#include "sim/live/drive.hpp"

namespace wattle::sim::live {

// A table of several lines.
std::string live_table(const Driver& driver);
// The state as a single line.
std::string live_line(const Driver& driver);
// The result compared with the same churn under default scoring, and its method.
std::string summary_text(const Driver& driver);
// The same as a JSON object.
std::string summary_json(const Driver& driver);

}  // namespace wattle::sim::live
