// report_page: the text of report.html, embedded by the build.
// Errors   none;  Threads  any
#pragma once

#include <string_view>

namespace wattle::sim::suite {

std::string_view report_page();

}  // namespace wattle::sim::suite
