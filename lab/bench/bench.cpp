#include "lab/bench/bench.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "lab/bench/live_run.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/improve/fleet_run.hpp"
#include "sim/policies/kube_scheduler.hpp"

namespace wattle::sim::consolidation {

namespace {

SetWhat sets(std::string_view name) {
  if (name.ends_with("+requests")) return SetWhat::cpu_and_memory;
  return name.ends_with("+cpu-requests") ? SetWhat::cpu : SetWhat::nothing;
}
bool with_requests(std::string_view name) { return sets(name) != SetWhat::nothing; }
std::string without_requests(std::string_view name) {
  return std::string(with_requests(name) ? name.substr(0, name.rfind('+')) : name);
}

// A network whose residual is reversed or scaled.
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

RunFigures figures_of(FleetRun run, const Episode& episode) {
  RunFigures figures;
  figures.energy_j = run.energy_j;
  figures.node_energy_j = std::move(run.node_energy_j);
  figures.awake_nodes = run.awake_nodes;
  figures.wakes = run.wakes;
  figures.refused = static_cast<double>(run.refused);
  figures.wake_wait_s = run.wake_wait_s;
  figures.waiting = run.waiting;
  figures.placements = static_cast<double>(run.placements);
  if (!episode.options.churn) figures.placement = std::move(run.node_of);
  return figures;
}

Episode with_truth(Episode episode) {
  episode.options.knowledge = ClusterModel::truth;
  return episode;
}

}  // namespace

Result<std::unique_ptr<placement::Policy>> make_fleet_policy(const std::string& name, std::uint64_t seed,
                                                             const BenchOptions& options) {
  if (with_requests(name))
    return fail(Errc::unsupported, "policy " + name, "sets requests of pods, which only worlds have",
                "--knowledge production");
  WATTLE_TRY(const Contestant contestant, contestant_named(name, options.network.get()));
  if (contestant.binding == Binding::unadvised) return std::make_unique<KubeScheduler>(seed);
  if (contestant.policy == "dqn") {
    placement::NetworkOptions learned = options.learned;
    if (contestant.gate) learned.gate = stats::NetworkTrialOptions{.begins_on_trial = true};
    learned.lives_known = options.episode.knowledge == ClusterModel::truth;
    return std::make_unique<placement::NetworkPolicy>(std::make_shared<Scaled>(options.network, options.residual_times),
                                                      learned);
  }
  if (contestant.binding == Binding::truth || contestant.binding == Binding::pairs || contestant.network != nullptr ||
      placement::parse_policy(contestant.policy)->telemetry)
    return fail(Errc::not_found, "policy " + name,
                "needs telemetry, which a cluster with --knowledge oracle does not have", "--knowledge production");
  return placement::make_policy(contestant.policy);
}

RunFigures run(const Episode& episode, placement::Policy& policy) {
  return figures_of(play_fleet(episode, policy), episode);
}

RunFigures hold(const Episode& episode, const Placement& placement) {
  assert(!episode.options.churn && placement.size() == episode.pods.size());
  const Episode known = with_truth(episode);
  return figures_of(play_fleet(known, [&](Cluster&, std::size_t p) { return std::optional(placement[p]); }), known);
}

Placement reference_placement(const Episode& episode, std::size_t moves) {
  // Starts from the rules' placements with a known count, and keeps the one of fewest watts.
  const FillProblem problem = fill_problem(episode);
  Episode told = with_truth(episode);
  told.expected_cores.assign(3, static_cast<double>(episode.pods.size()));
  told.expected_demand.clear();
  for (const double demand : problem.demand_cores) told.expected_demand.push_back(demand);
  std::sort(told.expected_demand.begin(), told.expected_demand.end());
  std::optional<Placement> best;
  double least_w = 0;
  for (const char* name : {"planner", "amortised"}) {
    const auto policy = placement::make_policy(name).value();
    const Placement start = run(told, *policy).placement;
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

std::optional<double> waited_from_second_hour(const RunFigures& figures) {
  WaitedTime later;
  for (std::size_t hour = 1; hour < figures.hours.size(); ++hour) {
    later.pod_s += figures.hours[hour].pod_s;
    later.waited_pod_s += figures.hours[hour].waited_pod_s;
  }
  return later.pod_s > 0 ? std::optional(later.waited_pod_s / later.pod_s) : std::nullopt;
}

Episode episode_before(const Dataset& data, const Options& drawn, std::uint64_t seed) {
  constexpr std::uint64_t kBefore = 500'000'000;
  Options before = drawn;
  before.cluster_seed = drawn.cluster_seed.value_or(seed);
  before.shift.odd_waiting = 1;  // the learned waiting no longer applies
  if (before.shift.pairs_from_s > 0) before.shift.pairs = 0;
  return make_episode(data, before, seed + kBefore + 1);
}

namespace {

class Bench {
 public:
  Bench(const Dataset& data, const BenchOptions& options) : data_(data), options_(options) {
    network_ = options.network;
    if (network_ && options.residual_times != 1)
      network_ = std::make_shared<Scaled>(options.network, options.residual_times);
  }

  Result<RunFigures> run_one(const Episode& episode, const std::optional<Episode>& before, const std::string& name) {
    if (episode.options.knowledge == ClusterModel::production) {
      WATTLE_TRY(const Contestant contestant, contestant_named(without_requests(name), network_.get()));
      LiveRunOptions live;
      live.set_requests = sets(name);
      live.network = options_.learned;
      live.scheduler = options_.scheduler;
      live.defer_s = options_.defer_s;
      live.look_ahead = options_.look_ahead;
      live.decision_window = options_.decision_window;
      return run_live(episode, before ? &*before : nullptr, contestant, live);
    }
    WATTLE_TRY(const auto policy, make_fleet_policy(name, episode.seed, options_));
    RunFigures figures = run(episode, *policy);
    if (const auto* learned = dynamic_cast<const placement::NetworkPolicy*>(policy.get());
        learned != nullptr && learned->choices() > 0)
      figures.network_gated = static_cast<double>(learned->network_gated()) / static_cast<double>(learned->choices());
    return figures;
  }

  Result<BenchTable> table(std::size_t nodes) {
    BenchTable table;
    table.nodes = nodes;
    for (const std::string& name : options_.rules) {
      const std::string alone = without_requests(name);
      table.rules.push_back({name, {}, {}, {}, {}, {}});
    }
    Options drawn = options_.episode;
    drawn.nodes = nodes;
    const bool live = drawn.knowledge == ClusterModel::production;
    for (std::size_t k = 0; k < options_.seeds; ++k) {
      const std::uint64_t seed = options_.first_seed + k;
      Options own = drawn;
      if (live && !own.cluster_seed) own.cluster_seed = seed;
      const Episode episode = make_episode(data_, own, seed);
      std::optional<Episode> before;
      if (live && !options_.cold) before = episode_before(data_, drawn, seed);
      table.seeds.push_back(seed);
      table.days.push_back(episode.day->name);
      for (BenchRule& each : table.rules) {
        WATTLE_TRY(RunFigures figures, run_one(episode, before, each.name));
        each.runs.push_back(std::move(figures));
      }
      if (drawn.churn || options_.moves_per_pod == 0 || compares_by_work(drawn)) continue;
      const Placement best = reference_placement(episode, options_.moves_per_pod * episode.pods.size());
      table.reference_j.push_back(hold(episode, best).energy_j);
    }
    compare(table);
    return table;
  }

 private:
  void compare(BenchTable& table) const;

  const Dataset& data_;
  const BenchOptions& options_;
  std::shared_ptr<const models::QNetwork> network_;
};

void Bench::compare(BenchTable& table) const {
  // If pods wait for a place or for each other, they complete less work in the same time.
  const bool by_work =
      compares_by_work(options_.episode) || std::any_of(options_.rules.begin(), options_.rules.end(), with_requests);
  const auto energies = [by_work](const BenchRule& rule) {
    std::vector<double> values;
    for (const RunFigures& each : rule.runs)
      values.push_back(by_work ? each.energy_j / std::max(1.0, each.work_core_s) : each.energy_j);
    return values;
  };
  const auto interval = [&](const std::vector<double>& seeds) {
    std::map<std::string, std::vector<double>> by_day;  // strata; an interval over seeds needs several seeds
    for (std::size_t k = 0; k < seeds.size(); ++k) by_day[table.days[k]].push_back(seeds[k]);
    std::vector<std::vector<double>> strata;
    const bool alone = std::any_of(by_day.begin(), by_day.end(), [](const auto& day) { return day.second.size() < 2; });
    if (alone) strata.emplace_back();
    for (auto& [day, values] : by_day) {
      if (!alone) strata.emplace_back();
      strata.back().insert(strata.back().end(), values.begin(), values.end());
    }
    return iqm_interval(strata);
  };
  const auto over = [&](const BenchRule& rule, const std::vector<double>& base) {
    std::vector<double> seeds = energies(rule);
    for (std::size_t k = 0; k < seeds.size(); ++k) seeds[k] = seeds[k] / base[k] - 1;
    return interval(seeds);
  };
  const auto find = [&](const char* name) {
    return std::find_if(table.rules.begin(), table.rules.end(), [&](const BenchRule& r) { return r.name == name; });
  };
  const auto base = find("kube-default"), amortised = find("amortised"), planner = find("planner");
  for (BenchRule& each : table.rules) {
    if (!table.reference_j.empty()) each.gap = over(each, table.reference_j);
    if (base != table.rules.end()) each.over_default = over(each, energies(*base));
    if (amortised != table.rules.end()) each.over_amortised = over(each, energies(*amortised));
    if (planner != table.rules.end()) each.over_planner = over(each, energies(*planner));
    if (options_.episode.knowledge != ClusterModel::production) continue;
    std::vector<double> waiting, later;
    for (const RunFigures& run : each.runs) {
      waiting.push_back(run.waiting);
      if (const auto from_second = waited_from_second_hour(run)) later.push_back(*from_second);
    }
    each.waiting = interval(waiting);
    if (later.size() == waiting.size()) each.later_waiting = interval(later);
  }
}

}  // namespace

Result<BenchResult> bench(const Dataset& data, const BenchOptions& options) {
  BenchResult result{options, data.origin, {}};
  Bench playing(data, options);
  for (const std::size_t nodes : options.nodes) {
    WATTLE_TRY(BenchTable table, playing.table(nodes));
    result.tables.push_back(std::move(table));
  }
  return result;
}

}  // namespace wattle::sim::consolidation
