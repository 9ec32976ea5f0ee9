#include "sim/improve/fleet_run.hpp"

#include <utility>

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

PlayedHours play_hours(const Episode& episode, const Where& where) {
  constexpr double kStep_s = 3600;
  Cluster cluster(episode);
  cluster.start_measuring();
  PlayedHours out;
  std::vector<double> before(episode.servers.size());
  std::size_t next = 0;
  for (double to_s = kStep_s; to_s <= episode.end_s; to_s += kStep_s) {
    for (; next < episode.pods.size() && episode.pods[next].arrives_s < to_s; ++next) {
      cluster.advance_to(episode.pods[next].arrives_s);
      const std::optional<std::size_t> node = where(cluster, next);
      const bool placed = node && placement::fits(cluster.fleet().nodes[*node], cluster.ask(next));
      if (placed) cluster.place(next, *node);
      out.node_of.push_back(placed ? *node : Cluster::kNowhere);
    }
    cluster.advance_to(to_s);
    std::vector<double>& hour = out.node_j.emplace_back();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double now_j = cluster.node_energy_j(i);
      hour.push_back(now_j - std::exchange(before[i], now_j));
    }
  }
  return out;
}

}  // namespace wattle::sim::consolidation
