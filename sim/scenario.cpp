#include "sim/scenario.hpp"

#include <algorithm>
#include <numeric>

namespace wattle::sim {

namespace {

bool is_thesis(Kind kind) { return kind == Kind::batch || kind == Kind::window; }

WorkloadOptions workload_options(const Scenario& scenario) {
  WorkloadOptions options;
  options.demand_scale = scenario.demand_scale;
  options.life_scale = scenario.life_s / 2100;  // the profiles' mean
  options.endless = scenario.kind != Kind::churn;
  return options;
}

std::vector<AppProfile> profiles_of(const Scenario& scenario, std::uint64_t seed) {
  if (is_thesis(scenario.kind)) return {thesis_profile()};
  return mixed_profiles(workload_options(scenario), seed);
}

double mean_request_cores(const std::vector<AppProfile>& profiles) {
  double sum = 0;
  for (const AppProfile& app : profiles) sum += app.request.cpu_cores;
  return sum / static_cast<double>(profiles.size());
}

double mean_life_s(const std::vector<AppProfile>& profiles) {
  // Weighted as the load is: long-lived applications hold more of it.
  double sum = 0;
  for (const AppProfile& app : profiles) sum += app.mean_life_s * app.request.cpu_cores;
  return sum / (mean_request_cores(profiles) * static_cast<double>(profiles.size()));
}

}  // namespace

Result<Scenario> find_scenario(std::string_view name) {
  std::string names;
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name == name) return scenario;
    names += (names.empty() ? "" : ", ") + std::string(scenario.name);
  }
  return fail(Errc::not_found, "scenario " + std::string(name), "there is no such scenario", "one of " + names);
}

WorldOptions make_world(const Scenario& scenario, const std::vector<ServerModel>& measured, std::uint64_t seed) {
  Random random(mix(seed, 0x776f726c64ULL));
  WorldOptions options;
  options.seed = seed;
  options.idle_nodes_sleep = scenario.idle_nodes_sleep;
  std::vector<ServerModel> fleet = synthetic_fleet(scenario.nodes, seed);
  if (!measured.empty()) fleet = draw_fleet(measured, scenario.nodes, seed).value();
  for (ServerModel& server : fleet) {
    NodeSpec node;
    node.server = std::move(server);
    node.latency_ms = uniform(random) < 0.7 ? uniform(random, 4, 16) : uniform(random, 16, 28);
    node.crowded_ratio = uniform(random, 0.4, 0.75);
    node.latency_slope = uniform(random, 0.5, 3.0);
    options.nodes.push_back(std::move(node));
  }
  if (is_thesis(scenario.kind)) {
    // One node near, one middling, one far from the users, in an order that the seed decides.
    for (std::size_t i = options.nodes.size(); i > 1; --i)
      std::swap(options.nodes[i - 1], options.nodes[pick(random, i)]);
    for (std::size_t i = 0; i < options.nodes.size(); ++i)
      options.nodes[i].latency_ms = 5 + 30.0 * static_cast<double>(i) / static_cast<double>(options.nodes.size());
    for (std::size_t i = 0; i < options.nodes.size(); ++i)
      options.nodes[i].server.name = "sim-" + std::string(i < 10 ? "0" : "") + std::to_string(i);
  }
  const double length_s = scenario.interval_s * static_cast<double>(scenario.placements);
  for (std::size_t i = 0; i < scenario.shifts; ++i) {
    // The nearest node becomes the farthest, and the farthest the nearest.
    std::vector<double> ms;
    for (std::size_t n = 0; n < options.nodes.size(); ++n) {
      double now_ms = options.nodes[n].latency_ms;
      for (const LatencyShift& shift : options.shifts) now_ms = shift.node == n ? shift.latency_ms : now_ms;
      ms.push_back(now_ms);
    }
    const auto near = static_cast<std::size_t>(std::min_element(ms.begin(), ms.end()) - ms.begin());
    const auto far = static_cast<std::size_t>(std::max_element(ms.begin(), ms.end()) - ms.begin());
    const double at_s = length_s * static_cast<double>(i + 1) / static_cast<double>(scenario.shifts + 1);
    options.shifts.push_back({at_s, near, ms[far]});
    options.shifts.push_back({at_s, far, ms[near]});
  }
  return options;
}

Arrivals::Arrivals(const Scenario& scenario, const WorldOptions& world, std::uint64_t apps_seed, std::uint64_t seed)
    : scenario_(scenario),
      workload_(profiles_of(scenario, apps_seed), workload_options(scenario), seed),
      random_(mix(seed, 0x617272697665ULL)),
      interval_s_(scenario.interval_s) {
  double cores = 0;
  for (const NodeSpec& node : world.nodes) cores += node.server.cores;
  limit_cores_ = scenario.load_ratio * cores;
  if (scenario.kind == Kind::churn)
    interval_s_ = mean_life_s(workload_.profiles()) * mean_request_cores(workload_.profiles()) / limit_cores_;
}

std::optional<Arrivals::Arrival> Arrivals::next() {
  if (made_ >= scenario_.placements) return std::nullopt;
  Arrival arrival;
  arrival.pod = workload_.next();
  requested_cores_ += arrival.pod.spec.request.cpu_cores;
  if (scenario_.kind == Kind::fill && requested_cores_ > limit_cores_) return std::nullopt;
  at_s_ += scenario_.kind == Kind::churn ? exponential(random_, interval_s_) : interval_s_;
  arrival.at_s = at_s_;
  if (scenario_.kind == Kind::window && made_ >= scenario_.window) arrival.remove_oldest = 1;
  if (scenario_.kind == Kind::batch && made_ > 0 && made_ % scenario_.window == 0)
    arrival.remove_oldest = scenario_.window;
  ++made_;
  return arrival;
}

}  // namespace wattle::sim
