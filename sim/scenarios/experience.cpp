#include "sim/scenarios/experience.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr std::array kWorlds{
    std::pair<std::string_view, Experience>{"plain", {}},
    std::pair<std::string_view, Experience>{"crowded", {true, false, false, false}},
    std::pair<std::string_view, Experience>{"interference", {false, true, false, false}},
    std::pair<std::string_view, Experience>{"wrong-data", {false, false, true, false}},
    std::pair<std::string_view, Experience>{"wave", {false, false, false, true}},
    std::pair<std::string_view, Experience>{"combined", {true, true, true, true}},
};

constexpr std::array kStarts{0.5, 0.7, 0.9};  // of the kinds of nodes
constexpr double kFlattered = 0.6, kMaligned = 1.7;
constexpr double kCapacityPerCore = 0.25, kLittle = 0.1;
constexpr double kArrivalSwing = 0.5, kLatencySwing = 0.5;
constexpr double kNearest_ms = 5, kFarthest_ms = 15, kLatencyStep_s = 900;
constexpr LatencyLimits kLimits{12, 30};

double swing(double at_s, double phase) { return std::sin(2 * std::numbers::pi * (at_s / kWave_s + phase)); }

}  // namespace

Result<Experience> experience_named(std::string_view name) {
  std::string names;
  for (const auto& [known, parts] : kWorlds) {
    if (known == name) return parts;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  return fail(Errc::not_found, "world " + std::string(name), "unknown world", "one of " + names);
}

std::vector<double> waiting_starts(std::size_t nodes, std::uint64_t seed) {
  Random random(mix(seed, 0x6b696e64ULL));
  std::vector<double> starts;
  for (std::size_t i = 0; i < nodes; ++i) starts.push_back(kStarts[pick(random, kStarts.size())]);
  return starts;
}

void share_resources(cluster::Pairs& pairs, std::size_t apps, std::uint64_t seed) {
  Random random(mix(seed, 0x736861726564ULL));
  pairs.share(kCapacityPerCore);
  for (std::size_t app = 0; app < apps; ++app) {
    cluster::ResourceUse use;
    for (std::size_t r = 0; r < cluster::kResources; ++r) {
      const bool heavy = pick(random, 4) == 0, touchy = pick(random, 4) == 0;
      use.uses[r] = heavy ? 1 : kLittle;
      use.suffers[r] = heavy || touchy ? uniform(random, 0.15, 0.5) : 0;
    }
    pairs.use(app, use);
  }
}

std::vector<double> datasheet_times(std::size_t nodes, std::uint64_t seed) {
  Random random(mix(seed, 0x7368656574ULL));
  std::vector<double> times(nodes, 1.0);
  for (std::size_t i = 0; i < nodes / 2; ++i) times[i] = i % 2 == 0 ? kFlattered : kMaligned;
  for (std::size_t i = nodes; i > 1; --i) std::swap(times[i - 1], times[pick(random, i)]);
  return times;
}

double arrivals_at(double at_s) { return 1 + kArrivalSwing * swing(at_s, 0); }

double latency_ms_at(std::size_t node, double at_s, std::uint64_t seed) {
  Random random(mix(mix(seed, 0x77617665ULL), node));
  const double mean_ms = uniform(random, kNearest_ms, kFarthest_ms), phase = uniform(random);
  return mean_ms * (1 + kLatencySwing * swing(at_s, phase));
}

std::vector<LatencyShift> latency_wave(std::size_t nodes, double until_s, std::uint64_t seed) {
  std::vector<LatencyShift> shifts;
  for (double at_s = kLatencyStep_s; at_s < until_s; at_s += kLatencyStep_s)
    for (std::size_t node = 0; node < nodes; ++node) shifts.push_back({at_s, node, latency_ms_at(node, at_s, seed)});
  return shifts;
}

std::optional<LatencyLimits> latency_limits_of(std::size_t app) {
  return app % 2 == 0 ? std::optional(kLimits) : std::nullopt;
}

}  // namespace wattle::sim::consolidation
