// paired_world: a fleet that is drawn and a cluster that lives, for tests of copies of a cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

inline Fleet draw_fleet(std::mt19937_64& random) {
  const auto real = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  Fleet fleet;
  fleet.idle_nodes_sleep = random() % 2 == 0;
  fleet.pods_stay = random() % 2 == 0;
  double cores = 0;
  for (int i = 0; i < 5; ++i) {
    FleetNode node;
    node.allocatable = {8 + static_cast<double>(random() % 12), 64e9};
    const double idle_w = real(20, 100), span_w = real(20, 200);
    for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = idle_w + span_w * static_cast<double>(k) / 10;
    node.sleeps = fleet.idle_nodes_sleep;
    node.wake_j = real(0, 5000);
    cores += node.allocatable.cpu_cores;
    fleet.nodes.push_back(node);
  }
  fleet.expected_cores = {0.3 * cores, 0.8 * cores};
  fleet.expected_demand = {0.1, 0.2, 0.4};
  fleet.revision = 1;
  return fleet;
}

// A cluster as really filled: where each pod is, and when it ends.
struct Running {
  std::uint64_t key = 0;
  std::size_t node = 0;
  PodEstimate ask;
  double ends_s = 0;
};

// Pods come every minute and live for half an hour on average; each goes where `choose` says. `ended` is told of ends.
template <class Choose, class Ended>
void live(std::mt19937_64& random, Fleet fleet, std::uint64_t pods, Choose&& choose, Ended&& ended) {
  std::vector<Running> running;
  for (std::uint64_t key = 1; key <= pods; ++key) {
    fleet.now_s += 60;
    const auto over = [&](const Running& each) { return each.ends_s <= fleet.now_s; };
    for (const Running& each : running) {
      if (!over(each)) continue;
      FleetNode& node = fleet.nodes[each.node];
      --node.pods;
      node.requested.cpu_cores -= each.ask.request.cpu_cores;
      node.requested.memory_bytes -= each.ask.request.memory_bytes;
      node.used_cores = std::max(0.0, node.used_cores - each.ask.demand_cores);
      node.sleeps = fleet.idle_nodes_sleep && node.pods == 0;
      ended(each);
    }
    std::erase_if(running, over);
    PodEstimate ask{{1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), 1800};
    const std::optional<std::size_t> chosen = choose(fleet, ask, key);
    if (!chosen) continue;
    FleetNode& node = fleet.nodes[*chosen];
    ++node.pods;
    node.requested.cpu_cores += ask.request.cpu_cores;
    node.requested.memory_bytes += ask.request.memory_bytes;
    node.used_cores += ask.demand_cores;
    node.sleeps = false;
    node.empties_at_s = std::max(node.empties_at_s, fleet.now_s + ask.life_s);
    const double life_s = std::exponential_distribution<double>(1.0 / 1800)(random);
    running.push_back({key, *chosen, ask, fleet.now_s + std::max(60.0, life_s)});
  }
}

}  // namespace wattle::placement
