#include "sim/improve/fleet_run.hpp"

namespace wattle::sim::consolidation {

FleetRun play_fleet(const Episode& episode, const Where& where) {
  Cluster cluster(episode);
  bool measuring = false;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    const double at_s = episode.pods[p].arrives_s;
    if (!measuring && at_s >= episode.measure_from_s) {
      cluster.advance_to(episode.measure_from_s);
      cluster.start_measuring();
      measuring = true;
    }
    cluster.advance_to(at_s);
    if (const std::optional<std::size_t> node = where(cluster, p)) cluster.place(p, *node);
  }
  if (!measuring) {
    cluster.advance_to(episode.measure_from_s);
    cluster.start_measuring();
  }
  cluster.advance_to(episode.end_s);
  FleetRun run;
  run.energy_j = cluster.energy_j();
  for (std::size_t i = 0; i < episode.servers.size(); ++i) run.node_energy_j.push_back(cluster.node_energy_j(i));
  run.node_of = cluster.node_of();
  return run;
}

FleetRun play_fleet(const Episode& episode, FleetChooser& chooser) {
  return play_fleet(episode,
                    [&](Cluster& cluster, std::size_t p) { return chooser.choose(cluster.fleet(), cluster.ask(p)); });
}

}  // namespace wattle::sim::consolidation
