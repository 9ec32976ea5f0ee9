// config_twice: keys that a map of a YAML text has twice, of which yaml-cpp keeps both and answers with the first.
// Errors   what is no YAML throws as yaml-cpp does; its only callers are config.cpp's
// Threads  any
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wattle::config {

// Adds line and text of each mistake; `name` stands for the file.
void find_twice(const std::string& text, const std::string& name, std::vector<std::pair<int, std::string>>& into);

}  // namespace wattle::config
