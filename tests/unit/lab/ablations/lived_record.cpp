#include "tests/unit/lab/ablations/lived_record.hpp"

#include <algorithm>
#include <cmath>

#include "common/json/value.hpp"
#include "sim/improve/cluster_record.hpp"
#include "sim/improve/fleet_run.hpp"

namespace wattle::sim::consolidation {

namespace {

using json = SortedJson;
constexpr double kBegins_s = 1'700'000'000 - 1'700'000'000 % 3600;

std::string line(const char* kind, json row) { return json{{kind, std::move(row)}}.dump() + "\n"; }
std::string node_name(std::size_t node) { return "node-" + std::to_string(node); }

// Mean cores per hour, from the pod's arrival to its end.
json used_cores(const Episode& day, const Pod& pod, double ends_s) {
  json used = json::array();
  for (double hour_s = pod.arrives_s - std::fmod(pod.arrives_s, kHour_s); hour_s < ends_s; hour_s += kHour_s) {
    double sum = 0, lived_s = 0;
    for (double at_s = hour_s; at_s < hour_s + kHour_s; at_s += kSample_s) {
      const double here_s = std::min(at_s + kSample_s, ends_s) - std::max(at_s, pod.arrives_s);
      if (here_s <= 0) continue;
      const auto sample = static_cast<std::size_t>(at_s / kSample_s) % kDaySamples;
      sum += here_s * static_cast<double>(day.day->cores[pod.machine][sample]);
      lived_s += here_s;
    }
    used.push_back(lived_s > 0 ? json(sum / lived_s) : json(nullptr));
  }
  return used;
}

std::string nodes_text(const Episode& day) {
  std::string text;
  for (std::size_t i = 0; i < day.servers.size(); ++i)
    text += line("nodes", {{"name", node_name(i)},
                           {"cores", day.servers[i].cores},
                           {"memory_bytes", day.servers[i].memory_bytes},
                           {"watts", day.servers[i].watts},
                           {"readings", 20},
                           {"residual_sd_w", 0},
                           {"state", "ready"},
                           {"wake_j", day.servers[i].wake_energy_j}});
  return text;
}

}  // namespace

std::string lived_record(std::span<const Episode> days, std::span<const double> measured_times) {
  std::string nodes, pods, hours;
  double begins_s = kBegins_s;
  for (const Episode& day : days) {
    FleetChooser planner;
    const PlayedHours played = play_hours(
        day, [&](Cluster& cluster, std::size_t pod) { return planner.choose(cluster.fleet(), cluster.ask(pod)); });
    const double lasts_s = kHour_s * static_cast<double>(played.node_j.size());
    nodes = nodes_text(day);
    for (std::size_t p = 0; p < played.node_of.size(); ++p) {
      const Pod& pod = day.pods[p];
      if (played.node_of[p] == Cluster::kNowhere) continue;
      const double ends_s = std::min(pod.arrives_s + pod.life_s, lasts_s);
      const placement::AppKey app = day.key_of(pod.app);
      pods += line("pods", {{"owner", app.owner},
                            {"image", app.image},
                            {"labels", app.labels},
                            {"cpu_cores", pod.request.cpu_cores},
                            {"memory_bytes", pod.request.memory_bytes},
                            {"node", node_name(played.node_of[p])},
                            {"placed_s", begins_s + pod.arrives_s},
                            {"ended_s", begins_s + ends_s},
                            {"used_cores", used_cores(day, pod, ends_s)}});
    }
    for (std::size_t h = 0; h < played.node_j.size(); ++h)
      for (std::size_t i = 0; i < played.node_j[h].size(); ++i)
        hours += line("hours", {{"from_s", begins_s + kHour_s * static_cast<double>(h)},
                                {"node", node_name(i)},
                                {"measured_j", measured_times[i] * played.node_j[h][i]},
                                {"estimated_j", 0}});
    begins_s += lasts_s;
  }
  return json{{"wattle_record", 1}, {"to_s", begins_s}, {"names", "plain"}}.dump() + "\n" + nodes + pods + hours;
}

}  // namespace wattle::sim::consolidation
