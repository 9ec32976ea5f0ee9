#include "sim/improve/fleet_run.hpp"

#include <algorithm>

namespace wattle::sim::consolidation {

namespace {

FleetRun figures_of(Cluster& cluster, const Episode& episode, std::size_t placements) {
  FleetRun run;
  run.energy_j = cluster.energy_j();
  for (std::size_t i = 0; i < episode.servers.size(); ++i) run.node_energy_j.push_back(cluster.node_energy_j(i));
  run.awake_nodes = cluster.awake_node_s() / (episode.end_s - episode.measure_from_s);
  run.wakes = static_cast<double>(cluster.wakes());
  run.refused = cluster.refused();
  run.wake_wait_s = cluster.wake_wait_s();
  run.waiting = cluster.wake_wait_s() / std::max(1.0, cluster.pod_s());
  run.placements = placements;
  run.node_of = cluster.node_of();
  return run;
}

}  // namespace

FleetRun play_fleet(const Episode& episode, const Where& where) {
  Cluster cluster(episode);
  bool measuring = false;
  std::size_t placements = 0;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    const double at_s = episode.pods[p].arrives_s;
    if (!measuring && at_s >= episode.measure_from_s) {
      cluster.advance_to(episode.measure_from_s);
      cluster.start_measuring();
      measuring = true;
    }
    cluster.advance_to(at_s);
    const std::optional<std::size_t> node = where(cluster, p);
    if (node) {
      cluster.place(p, *node);
      ++placements;
    } else {
      cluster.refuse();
    }
  }
  if (!measuring) {
    cluster.advance_to(episode.measure_from_s);
    cluster.start_measuring();
  }
  cluster.advance_to(episode.end_s);
  return figures_of(cluster, episode, placements);
}

FleetRun play_fleet(const Episode& episode, placement::Policy& policy) {
  Random ties(mix(episode.seed, 0x74696573ULL));
  constexpr placement::PodEstimate kNoneNeeded{};
  return play_fleet(episode, [&](Cluster& cluster, std::size_t p) {
    for (const Cluster::Ended& each : cluster.take_ended())
      policy.ended({each.pod, kNoneNeeded, std::nullopt, {}, each.at_s});
    const placement::PodEstimate ask = cluster.ask(p);
    placement::PolicyContext context(cluster.fleet(), ask, p, p);
    context.random = &ties;
    const auto chosen = policy.choose(context);
    if (chosen) policy.placed({p, ask, chosen, {}, cluster.fleet().now_s});
    return chosen;
  });
}

}  // namespace wattle::sim::consolidation
