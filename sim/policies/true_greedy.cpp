#include "sim/policies/true_greedy.hpp"

namespace wattle::sim {

std::optional<std::size_t> least_true_watts(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, double wait_price_w) {
  constexpr double kAwake_s = 3600;
  std::optional<std::size_t> best;
  double least_w = 0;
  const std::vector<KubeNode> nodes = wait_price_w > 0 ? world.kube_nodes() : std::vector<KubeNode>();
  for (const std::size_t i : feasible) {
    const ServerModel& server = world.truth(i).server;
    const double before = world.wanted_cores(i), after = before + pod.mean_demand_cores;
    double added_w = server.watts_at(after / server.cores) - server.watts_at(before / server.cores);
    // Wanted cores beyond the machine's cost no watts, but time: without this term a full node would appear cheap.
    if (after > server.cores) added_w += server.max_w() * (after - server.cores);
    if (!world.powered(i)) added_w += server.watts_at(0) - server.sleep_w + server.wake_energy_j / kAwake_s;
    if (wait_price_w > 0) {
      const double crowded = world.truth(i).crowded_ratio, pods = static_cast<double>(nodes[i].pods);
      const auto waits = [&](double wanted) {
        return std::min(1.0, world.truth(i).waiting_times * cluster::pressure_ratio(wanted, server.cores, crowded));
      };
      added_w += wait_price_w * ((pods + 1) * waits(after) - pods * waits(before));
    }
    if (best && added_w >= least_w) continue;
    best = i;
    least_w = added_w;
  }
  return best;
}

}  // namespace wattle::sim
