#include "sim/scenarios/demand_trace.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "sim/scenarios/gzip.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {
constexpr std::size_t kMaxFileBytes = 64 << 20;
constexpr std::string_view kPrefix = "planetlab_";
const char* const kForm = "a line is 288 percentages of 0 to 100, separated by commas";

}  // namespace

Result<DemandDay> parse_day(std::string_view csv, const std::string& file) {
  DemandDay day;
  day.name = file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
  std::size_t line_number = 0;
  std::string problem;
  parse::for_each_line(csv, [&](std::string_view line) {
    ++line_number;
    line = parse::trim(line);
    if (!line.empty() && line.back() == '\r') line = parse::trim(line.substr(0, line.size() - 1));
    if (line.empty() || !problem.empty()) return;
    if (line.back() == ',') line.remove_suffix(1);
    const auto cells = parse::split(line, ',');
    if (cells.size() != kDaySamples) {
      problem = "line " + std::to_string(line_number) + " has " + std::to_string(cells.size()) + " samples, not 288";
      return;
    }
    std::array<float, kDaySamples>& machine = day.machines.emplace_back();
    for (std::size_t i = 0; i < kDaySamples; ++i) {
      const auto percent = parse::real(parse::trim(cells[i]));
      if (!percent || *percent < 0 || *percent > 100) {
        problem = "line " + std::to_string(line_number) + ", sample " + std::to_string(i + 1) + " is not a percentage";
        return;
      }
      machine[i] = static_cast<float>(*percent);
    }
  });
  if (!problem.empty()) return fail(Errc::malformed, file, problem, kForm);
  if (day.machines.empty()) return fail(Errc::malformed, file, "has no machines", kForm);
  return day;
}

Result<std::vector<DemandDay>> load_days(const std::string& trace_dir) {
  WATTLE_TRY(const auto dir, Dir::open_(trace_dir));
  WATTLE_TRY(const auto entries, dir.list());
  std::vector<DemandDay> days;
  for (const DirEntry& entry : entries) {
    const bool packed = entry.name.ends_with(".csv.gz");
    if (entry.is_dir || !entry.name.starts_with(kPrefix) || (!packed && !entry.name.ends_with(".csv"))) continue;
    const std::string file = trace_dir + "/" + entry.name;
    WATTLE_TRY(std::string text, dir.read_file(entry.name, kMaxFileBytes));
    if (packed) {
      WATTLE_TRY(text, gunzip(text, file, kMaxFileBytes));
    }
    WATTLE_TRY(auto day, parse_day(text, file));
    days.push_back(std::move(day));
  }
  if (days.empty()) return fail(Errc::not_found, trace_dir, "has no planetlab_*.csv or planetlab_*.csv.gz");
  return days;
}

DemandDay synthetic_day(std::size_t machines, std::uint64_t seed) {
  DemandDay day;
  day.name = "synthetic-" + std::to_string(seed);
  Random random(mix(seed, 0x646179ULL));
  for (std::size_t m = 0; m < machines; ++m) {
    const double mean = std::min(60.0, 6.5 * std::exp(0.85 * normal(random)));
    const double swing = uniform(random, 0.0, 0.4);
    const double phase = uniform(random, 0.0, 0.25);  // users of one continent
    const double roughness = uniform(random, 0.1, 0.8);
    double drift = 0;
    std::array<float, kDaySamples>& machine = day.machines.emplace_back();
    for (std::size_t i = 0; i < kDaySamples; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(kDaySamples) + phase;
      drift = 0.8 * drift + 0.6 * normal(random);
      const double percent = mean * (1 + swing * std::sin(2 * std::numbers::pi * at)) *
                             std::exp(roughness * drift - 0.5 * roughness * roughness);
      machine[i] = static_cast<float>(std::clamp(std::round(percent), 0.0, 100.0));
    }
  }
  return day;
}

}  // namespace wattle::sim::consolidation
