#include "sim/policies/true_greedy.hpp"

namespace wattle::sim {

std::optional<std::size_t> least_true_watts(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible) {
  constexpr double kAwake_s = 3600;
  std::optional<std::size_t> best;
  double least_w = 0;
  for (const std::size_t i : feasible) {
    const ServerModel& server = world.truth(i).server;
    const double before = world.wanted_cores(i), after = before + pod.mean_demand_cores;
    double added_w = server.watts_at(after / server.cores) - server.watts_at(before / server.cores);
    // What is wanted beyond all cores costs no watts, but time: a full node is no bargain.
    if (after > server.cores) added_w += server.max_w() * (after - server.cores);
    if (!world.powered(i)) added_w += server.watts_at(0) - server.sleep_w + server.wake_energy_j / kAwake_s;
    if (best && added_w >= least_w) continue;
    best = i;
    least_w = added_w;
  }
  return best;
}

}  // namespace wattle::sim
