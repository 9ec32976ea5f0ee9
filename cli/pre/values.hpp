// values: checks a user's values for the chart against the requirements of an installation. The chart's schema checks
// the rest.
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// Checks only the given values; the chart's defaults are valid.
std::vector<Finding> judge_values(const OrderedJson& values, const std::string& where);

}  // namespace wattle::cli
