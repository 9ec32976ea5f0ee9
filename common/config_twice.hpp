// config_twice: finds duplicate keys in the maps of a YAML text, and documents after the first. yaml-cpp returns the
// first of two equal keys, and loads only the first document.
// Errors   text that is not YAML throws as in yaml-cpp; only config.cpp calls this
// Threads  any
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wattle::config {

// Appends line and text of each mistake; `name`: name of the file.
void find_twice(const std::string& text, const std::string& name, std::vector<std::pair<int, std::string>>& into);

}  // namespace wattle::config
