// history_file: the saved history of the page's charts in data_dir.
// Errors   logged: an unusable file is kept until the next write, and the history starts empty
// Threads  the owner of the series
#pragma once

#include <string>
#include <string_view>

#include "common/log.hpp"

namespace wattle::controller {

class Series;

// File name in data_dir.
inline constexpr std::string_view kHistoryFile = "history";

void recall_series(Series& series, const std::string& data_dir, const Log& log);

}  // namespace wattle::controller
