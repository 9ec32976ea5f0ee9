// rate_trace: requests per second over time, read from a file.
// Source   text with one number per line, starting with the first second
// Units    requests/s
// Errors   malformed, out_of_range, naming file and line
// Threads  values
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle {

struct RateTrace {
  std::string name;
  std::vector<double> rates_rps;  // not empty, not negative
};

inline constexpr std::size_t kMostTraceSeconds = 7 * 86'400;
inline constexpr std::size_t kMostTraceBytes = 16 << 20;
inline constexpr double kMostRateRps = 1e6;

Result<RateTrace> parse_rates(std::string_view text, const std::string& file);

void scale(RateTrace& trace, double factor);

}  // namespace wattle
