// values: a user's values for the chart, held against what an installation needs; what the chart's schema refuses is left to it.
// Threads  pure
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/pre/finding.hpp"

namespace wattle::cli {

// Only what is named there is judged: the chart's own values are fine.
std::vector<Finding> judge_values(const nlohmann::ordered_json& values, const std::string& where);

}  // namespace wattle::cli
