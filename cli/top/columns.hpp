// columns: by what rows of nodes and of workloads are sorted, and what a filter looks at.
// Source   objects of docs/reference/api.md
// Errors   none: rows without the value come last, whatever the direction
// Threads  any
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/view.hpp"

namespace wattle::cli::top {

struct SortKey {
  char letter;                                      // that is typed for it
  std::string_view column;                          // the title of what is sorted by
  std::optional<double> (*value)(const View& row);  // null: by name, from A on
};

// The first is what is sorted by at the start.
std::span<const SortKey> node_keys();
std::span<const SortKey> workload_keys();

std::string node_name(const View& node);
std::string workload_name(const View& workload);

using Name = std::string (*)(const View& row);
// In order, equal ones by name. `turned`: smallest numbers first, names from Z on.
std::vector<View> sorted(std::vector<View> rows, const SortKey& key, bool turned, Name name);
// Those in whose name or state the text stands, upper and lower case alike.
std::vector<View> filtered(std::vector<View> rows, std::string_view text, Name name);

}  // namespace wattle::cli::top
