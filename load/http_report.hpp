// http_report: results of a run of requests, as text for people and JSON for programs.
// Errors   none
// Threads  pure
#pragma once

#include <string>

#include "load/users.hpp"

namespace wattle::load {

std::string http_text(const UserLoad& load, const Tally& tally);
// docs/reference/load.md describes every field.
std::string http_json(const UserLoad& load, const Tally& tally);
// Returns one line without a newline.
std::string progress_line(const Progress& second);

}  // namespace wattle::load
