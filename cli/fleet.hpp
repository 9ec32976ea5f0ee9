// fleet: finds problems that show only across all nodes: missing agents, different versions, wrong clocks, sources that
// many nodes lack.
// Source   the documents doctor, nodes and status of docs/reference/api.md; the names of a cluster's nodes, if
//          requested
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

std::vector<Finding> judge_fleet(const OrderedJson& doctor, const OrderedJson& nodes, const OrderedJson& status,
                                 const std::optional<std::vector<std::string>>& expected_nodes);

// "3 of 8 nodes: a, b, c"; at most five names.
std::string some_of(const std::vector<std::string>& names, std::size_t all);

}  // namespace wattle::cli
