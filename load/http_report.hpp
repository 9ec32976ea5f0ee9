// http_report: what became of requests, for people and for programs.
// Errors   none
// Threads  pure
#pragma once

#include <string>

#include "load/users.hpp"

namespace wattle::load {

std::string http_text(const UserLoad& load, const Tally& tally);
// docs/reference/load.md has every field.
std::string http_json(const UserLoad& load, const Tally& tally);
// One line, without its end.
std::string progress_line(const Progress& second);

}  // namespace wattle::load
