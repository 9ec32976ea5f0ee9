// columns: sort keys for rows of nodes and workloads, and the text that filters match.
// Source   objects of docs/reference/api.md
// Errors   none: rows without the value come last in either direction
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
  char letter;                                      // key on the keyboard
  std::string_view column;                          // title of the sorted column
  std::optional<double> (*value)(const View& row);  // null: by name, ascending
};

// The first key is the default.
std::span<const SortKey> node_keys();
std::span<const SortKey> workload_keys();

std::string node_name(const View& node);
std::string workload_name(const View& workload);

using Name = std::string (*)(const View& row);
// Sorts by the key, equal rows by name. `turned`: ascending numbers, descending names.
std::vector<View> sorted(std::vector<View> rows, const SortKey& key, bool turned, Name name);
// Returns rows whose name or state contains the text, ignoring case.
std::vector<View> filtered(std::vector<View> rows, std::string_view text, Name name);

}  // namespace wattle::cli::top
