// drive_report: what the driver shows: a table redrawn each second on a terminal, a line otherwise, and the summary.
// Units    in every heading
// Errors   none
// Threads  pure functions of the driver's state
#pragma once

#include <string>

#include "sim/live/drive.hpp"

namespace wattle::sim::live {

// Several lines; each ends the line on a terminal.
std::string live_table(const Driver& driver);
// One line.
std::string live_line(const Driver& driver);
// What happened, against the same churn under default scoring, and how that is computed.
std::string summary_text(const Driver& driver);
// The same as a JSON object.
std::string summary_json(const Driver& driver);

}  // namespace wattle::sim::live
