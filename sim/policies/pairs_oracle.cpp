#include "sim/policies/pairs_oracle.hpp"

#include <algorithm>

namespace wattle::sim {

namespace {
// Factor for later pods, which a new mix also disturbs but which are not considered. Best of 2, 4, 8 and 16 on the
// training side.
constexpr double kThoseToCome = 8;
}  // namespace

double lost_cores(const World& world, const SimPod& pod, std::size_t node) {
  const cluster::Pairs* pairs = world.pairs();
  if (pairs == nullptr) return 0;
  const auto& there = world.pods(node);
  const auto app = [&](std::size_t k) { return world.pod(there[k].id).app; };
  // Current loss of each pod: the strongest disturbance by another pod.
  const auto loss = [&](std::size_t k) {
    double strongest = 0;
    for (std::size_t other = 0; other < there.size(); ++other)
      if (other != k) strongest = std::max(strongest, pairs->strength(app(k), app(other)));
    return strongest;
  };
  double own = 0, core_loss = 0;
  for (std::size_t k = 0; k < there.size(); ++k) {
    const double strength = pairs->strength(pod.app, app(k));
    if (strength == 0) continue;
    own = std::max(own, strength);
    core_loss += there[k].wanted_cores * std::max(0.0, strength - loss(k));
  }
  return core_loss + pod.mean_demand_cores * own;
}

double disturbed_w(const World& world, const SimPod& pod, std::size_t node) {
  const ServerModel& server = world.truth(node).server;
  const double wanted = world.wanted_cores(node) + pod.mean_demand_cores;
  return wanted > 0 ? lost_cores(world, pod, node) / wanted * server.watts_at(wanted / server.cores) : 0;
}

std::optional<std::size_t> least_disturbing(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, std::span<const double> values) {
  std::optional<std::size_t> best;
  double most = 0;
  for (const std::size_t i : feasible) {
    const double here = values[i] - kThoseToCome * disturbed_w(world, pod, i);
    if (best && here <= most) continue;
    best = i;
    most = here;
  }
  return best;
}

}  // namespace wattle::sim
