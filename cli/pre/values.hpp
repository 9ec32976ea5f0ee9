// values: a user's values for the chart, held against what an installation needs; what the chart's schema refuses is left to it.
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// Only what is named there is judged: the chart's own values are fine.
std::vector<Finding> judge_values(const OrderedJson& values, const std::string& where);

}  // namespace wattle::cli
