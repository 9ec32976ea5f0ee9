#include "sim/x8/bench.hpp"

#include <algorithm>
#include <cassert>
#include <map>

#include "placement/network_rule.hpp"
#include "sim/kube_scoring.hpp"

namespace wattle::sim::x8 {

namespace {

KubeNode kube_node(const placement::FleetNode& node) {
  const KubePod room = kube_pod(node.allocatable), taken = kube_pod(node.requested);
  KubeNode out;
  out.allocatable_milli_cpu = room.milli_cpu;
  out.allocatable_memory_bytes = room.memory_bytes;
  out.allocatable_pods = static_cast<std::int64_t>(node.pod_capacity);
  out.requested_milli_cpu = out.nonzero_milli_cpu = taken.milli_cpu;  // every pod of X8 asks for both
  out.requested_memory_bytes = out.nonzero_memory_bytes = taken.memory_bytes;
  out.pods = static_cast<std::int64_t>(node.pods);
  return out;
}

// A network that is wrong on purpose, or bolder.
class Scaled final : public models::QNetwork {
 public:
  Scaled(std::shared_ptr<const models::QNetwork> network, double times)
      : network_(std::move(network)), times_(static_cast<float>(times)) {}
  void residual(const models::Observation& observation, std::span<float> out) const override {
    network_->residual(observation, out);
    for (float& value : out) value *= times_;
  }
  std::uint64_t step() const override { return network_->step(); }

 private:
  std::shared_ptr<const models::QNetwork> network_;
  float times_;
};

class KubeDefault final : public placement::Rule {
 public:
  explicit KubeDefault(std::uint64_t seed) : random_(mix(seed, 0x6b756265ULL)) {}
  std::string_view name() const override { return "kube_default"; }
  std::optional<std::size_t> choose(const placement::Fleet& fleet, const placement::Ask& ask) override {
    nodes_.clear();
    for (const placement::FleetNode& node : fleet.nodes) nodes_.push_back(kube_node(node));
    return select_node(nodes_, kube_pod(ask.request), {}, 0, random_);
  }

 private:
  std::vector<KubeNode> nodes_;
  Random random_;
};

RunFigures figures_of(Cluster& cluster, const Episode& episode, std::size_t placements) {
  RunFigures figures;
  figures.energy_j = cluster.energy_j();
  figures.awake_nodes = cluster.awake_node_s() / (episode.end_s - episode.measure_from_s);
  figures.wakes = static_cast<double>(cluster.wakes());
  figures.refused = static_cast<double>(cluster.refused());
  figures.wake_wait_s = cluster.wake_wait_s();
  figures.placements = static_cast<double>(placements);
  if (!episode.options.churn) figures.placement = cluster.node_of();
  return figures;
}

// Plays the episode; `where` says the node of each pod.
template <class Where>
RunFigures play(const Episode& episode, Where&& where) {
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

Episode with_truth(Episode episode) {
  episode.options.knowledge = Knowledge::truth;
  return episode;
}

}  // namespace

Result<std::unique_ptr<placement::Rule>> make_any_rule(const std::string& name, std::uint64_t seed,
                                                       const BenchOptions& options) {
  if (name == "kube_default") return std::make_unique<KubeDefault>(seed);
  if (name == "dqn" || name == "dqn_guarded") {
    if (!options.network) return fail(Errc::not_found, "rule " + name, "has no network", "give --model FILE");
    placement::NetworkRuleOptions learned;
    learned.margin = options.margin;
    learned.plan = options.plan;
    if (name == "dqn_guarded") learned.guard.emplace();
    learned.lives_known = options.episode.knowledge == Knowledge::truth;
    return std::make_unique<placement::NetworkRule>(std::make_shared<Scaled>(options.network, options.residual_times),
                                                    learned);
  }
  return placement::make_rule(name, seed);
}

RunFigures run(const Episode& episode, placement::Rule& rule) {
  auto* const learned = dynamic_cast<placement::NetworkRule*>(&rule);
  return play(episode, [&](Cluster& cluster, std::size_t p) {
    if (learned != nullptr) {
      for (const Cluster::Ended& each : cluster.take_ended()) learned->ended(each.pod, each.at_s);
      learned->next_pod(p);
    }
    return rule.choose(cluster.fleet(), cluster.ask(p));
  });
}

RunFigures hold(const Episode& episode, const Placement& placement) {
  assert(!episode.options.churn && placement.size() == episode.pods.size());
  return play(with_truth(episode), [&](Cluster&, std::size_t p) { return std::optional(placement[p]); });
}

Placement reference_placement(const Episode& episode, std::size_t moves) {
  // Starts from what the rules would do if they knew the count; kept is what has the fewest watts.
  const FillProblem problem = fill_problem(episode);
  Episode told = with_truth(episode);
  told.expected_cores.assign(3, static_cast<double>(episode.pods.size()));
  told.expected_demand.clear();
  for (const double demand : problem.demand_cores) told.expected_demand.push_back(demand);
  std::sort(told.expected_demand.begin(), told.expected_demand.end());
  std::optional<Placement> best;
  double least_w = 0;
  for (const char* name : {"planner", "amortised"}) {
    const auto rule = placement::make_rule(name, 0).value();
    const Placement start = run(told, *rule).placement;
    if (!feasible(problem, start)) continue;
    Placement found = anneal(problem, start, moves, episode.seed);
    const double here_w = placement_w(problem, found);
    if (best && here_w >= least_w) continue;
    least_w = here_w;
    best = std::move(found);
  }
  assert(best);
  return *best;
}

Result<BenchResult> bench(const Dataset& data, const BenchOptions& options) {
  BenchResult result{options, data.origin, {}};
  for (const std::size_t nodes : options.nodes) {
    BenchTable table;
    table.nodes = nodes;
    for (const std::string& name : options.rules) table.rules.push_back({name, {}, {}, {}, {}, {}});
    Options drawn = options.episode;
    drawn.nodes = nodes;
    for (std::size_t k = 0; k < options.seeds; ++k) {
      const std::uint64_t seed = options.first_seed + k;
      const Episode episode = make_episode(data, drawn, seed);
      table.seeds.push_back(seed);
      table.days.push_back(episode.day->name);
      for (BenchRule& each : table.rules) {
        WATTLE_TRY(const auto rule, make_any_rule(each.name, seed, options));
        each.runs.push_back(run(episode, *rule));
        if (const auto* learned = dynamic_cast<const placement::NetworkRule*>(rule.get());
            learned != nullptr && learned->choices() > 0)
          each.runs.back().left_out =
              static_cast<double>(learned->left_out()) / static_cast<double>(learned->choices());
      }
      if (drawn.churn || options.moves_per_pod == 0) continue;
      const Placement best = reference_placement(episode, options.moves_per_pod * episode.pods.size());
      table.reference_j.push_back(hold(episode, best).energy_j);
    }
    const auto energies = [](const BenchRule& rule) {
      std::vector<double> values;
      for (const RunFigures& each : rule.runs) values.push_back(each.energy_j);
      return values;
    };
    const auto over = [&](const BenchRule& rule, const std::vector<double>& base) {
      std::map<std::string, std::vector<double>> by_day;
      const std::vector<double> mine = energies(rule);
      for (std::size_t k = 0; k < mine.size(); ++k) by_day[table.days[k]].push_back(mine[k] / base[k] - 1);
      std::vector<std::vector<double>> strata;
      strata.reserve(by_day.size());
      for (auto& [day, values] : by_day) strata.push_back(std::move(values));
      return iqm_interval(strata);
    };
    const auto find = [&](const char* name) {
      return std::find_if(table.rules.begin(), table.rules.end(), [&](const BenchRule& r) { return r.name == name; });
    };
    const auto base = find("kube_default"), amortised = find("amortised"), planner = find("planner");
    for (BenchRule& each : table.rules) {
      if (!table.reference_j.empty()) each.gap = over(each, table.reference_j);
      if (base != table.rules.end()) each.over_default = over(each, energies(*base));
      if (amortised != table.rules.end()) each.over_amortised = over(each, energies(*amortised));
      if (planner != table.rules.end()) each.over_planner = over(each, energies(*planner));
    }
    result.tables.push_back(std::move(table));
  }
  return result;
}

}  // namespace wattle::sim::x8
