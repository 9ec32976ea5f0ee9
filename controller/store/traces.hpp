// traces: what only a controller that ran here before leaves behind: where it is, a file that is missing or empty was lost.
// Source   data_dir and the store's file, before this process has written to them. The control file itself is not looked at
// Errors   none: what cannot be looked at is no trace
// Threads  pure but for the files
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"

namespace wattle::controller {

std::vector<std::string> traces_of_before(const std::string& data_dir, const std::string& store_path);

// "X, Y and 2 more are from a controller that ran here before"; empty: none is there.
std::string told_of(const std::vector<std::string>& traces);

// A file of no bytes, as a power cut leaves it.
bool is_emptied(const std::string& path);

}  // namespace wattle::controller
