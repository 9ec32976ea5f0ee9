// sizing_rows: the mode of right sizes and the state of each owner as rows of their file.
// Format   docs/reference/files.md
// Errors   a row that cannot be read is counted
// Threads  pure functions
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "controller/provision/sizing_ladder.hpp"

namespace wattle::controller {

SizingRow row_of(const std::string& owner, const placement::OwnerSizing& state, const placement::HarmWatch& harm);
std::vector<SizingRow> rows_of(const std::map<std::string, SizedOwner>& owners);
SizingRow row_of(const LadderMode& mode);
// Returns how many rows cannot be read.
std::size_t read_rows(std::span<const SizingRow> rows, LadderMode& mode, std::map<std::string, SizedOwner>& owners);

}  // namespace wattle::controller
