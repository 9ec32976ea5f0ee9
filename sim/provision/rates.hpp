// rates: requests a second, second by second; from a file or drawn.
// Source   text with one number a line, from the first second on
// Units    requests/s
// Errors   parse_rates: malformed, out_of_range, naming file and line
// Threads  values
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::sim::provision {

struct RateTrace {
  std::string name;
  std::vector<double> rates_rps;  // not empty, none below 0
};

inline constexpr std::size_t kMostSeconds = 7 * 86'400;
inline constexpr double kMostRate = 1e6;

Result<RateTrace> parse_rates(std::string_view text, const std::string& file);

// Made here, of about 130 requests/s: diurnal (slow swings), noisy (each second another rate around one mean), bursty
// (calm with bursts of some minutes of up to three times as much) and step (four times as much at once, and back).
std::vector<RateTrace> synthetic_rates(std::uint64_t seed, std::size_t seconds);

void scale(RateTrace& trace, double factor);

}  // namespace wattle::sim::provision
