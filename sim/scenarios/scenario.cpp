#include "sim/scenarios/scenario.hpp"

#include <algorithm>
#include <numeric>

#include "sim/scenarios/apps.hpp"

namespace wattle::sim {

namespace {

std::vector<std::size_t> shuffled(std::size_t n, Random& random) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[pick(random, i)]);
  return order;
}

std::vector<LatencyShift> shifts_of(const std::vector<NodeSpec>& nodes, double length_s) {
  constexpr std::size_t kShifts = 2;
  std::vector<double> ms;
  for (const NodeSpec& node : nodes) ms.push_back(node.latency_ms);
  std::vector<LatencyShift> shifts;
  for (std::size_t i = 0; i < kShifts; ++i) {
    const auto near = static_cast<std::size_t>(std::min_element(ms.begin(), ms.end()) - ms.begin());
    const auto far = static_cast<std::size_t>(std::max_element(ms.begin(), ms.end()) - ms.begin());
    const double at_s = length_s * static_cast<double>(i + 1) / static_cast<double>(kShifts + 1);
    shifts.push_back({at_s, near, ms[far]});
    shifts.push_back({at_s, far, ms[near]});
    std::swap(ms[near], ms[far]);
  }
  return shifts;
}

void fail_machines(FaultPlan& troubles, std::size_t nodes, double length_s, Random& random) {
  const std::vector<std::size_t> order = shuffled(nodes, random);
  const std::size_t gone = std::max<std::size_t>(1, nodes / 4);
  const std::size_t silent = std::max<std::size_t>(1, (nodes - gone) / 6);
  for (std::size_t i = 0; i < gone + silent && i < nodes; ++i) {
    const double from_s = uniform(random, 0.15, 0.7) * length_s;
    if (i < gone)
      troubles.outages.push_back({from_s, from_s + uniform(random, 180, 600), order[i]});
    else
      troubles.silences.push_back({from_s, from_s + uniform(random, 120, 360), order[i]});
  }
}

void change_curves(FaultPlan& troubles, const std::vector<NodeSpec>& nodes, double at_s) {
  const auto watts_per_core = [&](std::size_t i) {
    return (nodes[i].server.watts_at(0) + nodes[i].server.watts_at(0.5)) / nodes[i].server.cores;
  };
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return watts_per_core(a) < watts_per_core(b); });
  const std::size_t third = std::max<std::size_t>(1, nodes.size() / 3);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool first = i < third, last = i + third >= nodes.size();
    if (!first && !last) continue;
    CurveChange change{at_s, order[i], nodes[order[i]].server.watts};
    for (double& watts : change.watts) watts *= first ? kWasteful : kThrifty;
    troubles.curve_changes.push_back(change);
  }
}

void report_lies(FaultPlan& troubles, std::size_t nodes, double from_s, Random& random) {
  constexpr std::array kKinds{LieKind::frozen, LieKind::scaled, LieKind::swapped};
  const std::vector<std::size_t> order = shuffled(nodes, random);
  const std::size_t liars = std::max<std::size_t>(1, nodes / 10);
  for (std::size_t i = 0; i < liars; ++i)
    troubles.lies.push_back({kKinds[i % kKinds.size()], from_s, order[i], 0.4, order[(i + liars) % nodes]});
}

}  // namespace

FaultPlan draw_troubles(FaultKind kind, const std::vector<NodeSpec>& nodes, double length_s, std::uint64_t seed) {
  Random random(mix(seed, 0x74726f75626c65ULL));
  FaultPlan troubles;
  switch (kind) {
    case FaultKind::none:
      break;
    case FaultKind::latency:
      troubles.shifts = shifts_of(nodes, length_s);
      break;
    case FaultKind::machines:
      fail_machines(troubles, nodes.size(), length_s, random);
      break;
    case FaultKind::curves:
      change_curves(troubles, nodes, length_s / 2);
      break;
    case FaultKind::lies:
      report_lies(troubles, nodes.size(), length_s / 4, random);
      break;
  }
  return troubles;
}

namespace {

placement::Resources size_of(const WorldOptions& world) {
  placement::Resources sum;
  for (const NodeSpec& node : world.nodes) {
    sum.cpu_cores += node.server.cores;
    sum.memory_bytes += node.server.memory_bytes;
  }
  return sum;
}

void resize(ServerModel& server, double cores) {
  const double times = cores / server.cores;
  server.cores = cores;
  server.memory_bytes *= times;
  for (double& watts : server.watts) watts *= times;
  server.sleep_w *= times;
  server.wake_energy_j *= times;
}

std::vector<ServerModel> servers_of(const Scenario& scenario, const std::vector<ServerModel>& measured,
                                    std::uint64_t seed) {
  std::vector<ServerModel> fleet = synthetic_fleet(scenario.nodes, seed);
  if (!measured.empty()) fleet = draw_fleet(measured, scenario.nodes, seed).value();
  for (ServerModel& server : fleet) {
    if (scenario.cores > 0) resize(server, scenario.cores);
    if (!scenario.equal_nodes) continue;
    const std::string name = server.name;
    server = fleet.front();
    server.name = name;
  }
  return fleet;
}

// Places users near one node and farther from the others by equal steps, in an order that depends on the seed.
void spread_users(std::vector<NodeSpec>& nodes, Random& random) {
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[pick(random, i)]);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].latency_ms = 5 + 30.0 * static_cast<double>(i) / static_cast<double>(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].server.name = "sim-" + std::string(i < 10 ? "0" : "") + std::to_string(i);
}

}  // namespace

Result<Scenario> find_scenario(std::string_view name) {
  std::string names;
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name == name) return scenario;
    names += (names.empty() ? "" : ", ") + std::string(scenario.name);
  }
  return fail(Errc::not_found, "scenario " + std::string(name), "unknown scenario", "one of " + names);
}

WorldOptions make_world(const Scenario& scenario, const std::vector<ServerModel>& measured, std::uint64_t seed) {
  Random random(mix(seed, 0x776f726c64ULL));
  WorldOptions options;
  options.seed = seed;
  options.idle_nodes_sleep = scenario.idle_nodes_sleep;
  for (const ServerModel& server : servers_of(scenario, measured, seed)) {
    NodeSpec node;
    node.server = server;
    node.latency_ms = uniform(random) < 0.7 ? uniform(random, 4, 16) : uniform(random, 16, 28);
    node.crowded_ratio = uniform(random, 0.4, 0.75);
    node.latency_slope = uniform(random, 0.5, 3.0);
    options.nodes.push_back(std::move(node));
  }
  if (scenario.apps == Apps::thesis) spread_users(options.nodes, random);
  if (scenario.apps == Apps::users) {
    options.users.count = scenario.users;
    for (std::size_t i = 0; i + 1 < options.nodes.size(); ++i)
      options.nodes[i].blocked_cores = 0.5 * options.nodes[i].server.cores;
  }
  if (scenario.apps == Apps::services) {
    options.requests.per_s = request_rates(seed);
    for (NodeSpec& node : options.nodes) node.latency_ms = kServiceLatency_ms;
  }
  const double length_s =
      interval_s(scenario, profiles_of(scenario, seed), size_of(options)) * static_cast<double>(scenario.placements);
  options.trouble = draw_troubles(scenario.trouble, options.nodes, length_s, seed);
  return options;
}

Arrivals::Arrivals(const Scenario& scenario, const WorldOptions& world, std::uint64_t apps_seed, std::uint64_t seed)
    : scenario_(scenario),
      workload_(profiles_of(scenario, apps_seed), workload_options(scenario), seed),
      random_(mix(seed, 0x617272697665ULL)),
      interval_s_(interval_s(scenario, workload_.profiles(), size_of(world))),
      limit_cores_(scenario.load_ratio * size_of(world).cpu_cores) {
  if (scenario.kind == Kind::scaled) replicas_ = scale(workload_.profiles(), world.requests.per_s);
}

std::optional<Arrivals::Arrival> Arrivals::next_replica() {
  if (made_ >= replicas_.size()) return std::nullopt;
  const Replica& replica = replicas_[made_++];
  Arrival arrival{replica.at_s, workload_.next_of(replica.app), 0};
  arrival.pod.life_s = replica.life_s;
  return arrival;
}

std::optional<Arrivals::Arrival> Arrivals::next() {
  if (made_ >= scenario_.placements) return std::nullopt;
  if (scenario_.kind == Kind::scaled) return next_replica();
  Arrival arrival;
  arrival.pod = workload_.next();
  requested_cores_ += arrival.pod.spec.request.cpu_cores;
  if (scenario_.kind == Kind::fill && requested_cores_ > limit_cores_) return std::nullopt;
  if (scenario_.kind == Kind::churn)
    at_s_ += exponential(random_, interval_s_);
  else if (scenario_.kind == Kind::burst && made_ >= scenario_.window)
    at_s_ += scenario_.burst_s / static_cast<double>(scenario_.placements - scenario_.window);
  else
    at_s_ += interval_s_;
  arrival.at_s = at_s_;
  if (scenario_.kind == Kind::window && made_ >= scenario_.window) arrival.remove_oldest = 1;
  if (scenario_.kind == Kind::batch && made_ > 0 && made_ % scenario_.window == 0)
    arrival.remove_oldest = scenario_.window;
  ++made_;
  return arrival;
}

}  // namespace wattle::sim
