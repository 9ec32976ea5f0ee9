// demand_trace: CPU demand of many machines over one day, measured or synthetic.
// Source   planetlab_YYYYMMDD.csv[.gz]: one machine per line, 288 samples of 5 minutes in percent, separated by commas
//          (one comma may end the line)
// Units    percent of one core, 0..100; a sample is the mean of 5 minutes
// Errors   not_found, malformed with file, line and cause
// Threads  values, pure functions
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::sim::consolidation {

inline constexpr std::size_t kDaySamples = 288;
inline constexpr double kSample_s = 300;

struct DemandDay {
  std::string name;
  std::vector<std::array<float, kDaySamples>> machines;  // percent
};

Result<DemandDay> parse_day(std::string_view csv, const std::string& file);
// Loads all days of a folder, by name; .csv and .csv.gz.
Result<std::vector<DemandDay>> load_days(const std::string& trace_dir);

// Makes a day of the same form and roughly the same spread: means over two decades, daily swings and bursts. The same
// seed gives the same day.
DemandDay synthetic_day(std::size_t machines, std::uint64_t seed);

}  // namespace wattle::sim::consolidation
