// cluster_record: records as `wattle model record` writes them, generated from a seed, for tests.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "common/json/value.hpp"
#include "sim/improve/cluster_record.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation::testing {

struct MadeRecord {
  std::size_t nodes = 3;
  double hours = 8, from_s = 1'700'000'000 - 1'700'000'000 % 3600;
  double pods_per_hour = 12, life_s = 1500;
  // The last node runs no pod; it draws `idle_times` its curve's watts, and `later_times` from hour `later_h` on.
  double idle_times = 1, later_times = 1, later_h = 1e9;
};

inline double idle_w(std::size_t node) { return 60 + 10 * static_cast<double>(node); }

inline std::string record_text(const MadeRecord& made) {
  using json = wattle::SortedJson;
  const auto line = [](const char* kind, json row) { return json{{kind, std::move(row)}}.dump() + "\n"; };
  std::string text =
      json{{"wattle_record", 1}, {"to_s", made.from_s + 3600 * made.hours}, {"names", "plain"}}.dump() + "\n";
  for (std::size_t i = 0; i < made.nodes; ++i) {
    json watts = json::array();
    for (std::size_t k = 0; k < placement::kCurvePoints; ++k)
      watts.push_back(idle_w(i) + static_cast<double>(k * (8 + 6 * i)));
    text += line("nodes", {{"name", "n" + std::to_string(i)},
                           {"cores", 8},
                           {"memory_bytes", 32e9},
                           {"watts", watts},
                           {"readings", 500},
                           {"residual_sd_w", 1.0},
                           {"state", "ready"},
                           {"wake_j", 0}});
  }
  Random random(7);
  for (double at_s = made.from_s; at_s < made.from_s + 3600 * made.hours;) {
    at_s += exponential(random, 3600 / made.pods_per_hour);
    const std::size_t app = pick(random, 4);
    const double life_s = std::max(60.0, exponential(random, made.life_s)), end_s = at_s + life_s;
    json used = json::array();
    for (double hour = at_s - std::fmod(at_s, 3600); hour < end_s; hour += 3600)
      used.push_back(0.1 + 0.2 * static_cast<double>(app));
    text += line("pods", {{"owner", "Deployment/app-" + std::to_string(app)},
                          {"image", "image:" + std::to_string(app)},
                          {"labels", ""},
                          {"cpu_cores", 1},
                          {"memory_bytes", 1e9},
                          {"node", "n" + std::to_string(pick(random, made.nodes - 1))},
                          {"placed_s", std::floor(at_s)},
                          {"ended_s", end_s < made.from_s + 3600 * made.hours ? json(std::ceil(end_s)) : json(nullptr)},
                          {"used_cores", used}});
  }
  const std::size_t last = made.nodes - 1;
  for (double h = 0; h < made.hours; ++h)
    text +=
        line("hours", {{"from_s", made.from_s + 3600 * h},
                       {"node", "n" + std::to_string(last)},
                       {"measured_j", 3600 * idle_w(last) * (h < made.later_h ? made.idle_times : made.later_times)},
                       {"estimated_j", 0}});
  return text;
}

inline ClusterRecord record_of(const MadeRecord& made) {
  auto record = parse_cluster_record(record_text(made), "record");
  if (!record) FAIL(record.error().message());
  return std::move(*record);
}

}  // namespace wattle::sim::consolidation::testing
