// traces: finds signs that a controller has run here before. If there are any, a missing or empty control file means
// that it was lost.
// Source   data_dir and the store's file, before this process writes to them. Does not read the control file
// Errors   none: an unreadable file does not count
// Threads  pure except for the files
#pragma once

#include <string>
#include <vector>

namespace wattle::controller {

std::vector<std::string> traces_of_before(const std::string& data_dir, const std::string& store_path);

// Returns "X, Y and 2 more are from a controller that ran here before"; empty if there are no traces.
std::string reported_of(const std::vector<std::string>& traces);

// Returns whether the file exists and is empty, as after a power cut.
bool is_emptied(const std::string& path);

}  // namespace wattle::controller
