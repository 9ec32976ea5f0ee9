#include "lab/bench/bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/bench/live_run.hpp"
#include "lab/policies/lab_policies.hpp"

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

// Puts each pod on the first server with a free slot.
Placement first_fit(const FillProblem& problem) {
  std::vector<std::size_t> left = problem.slots;
  Placement placement;
  std::size_t server = 0;
  for (std::size_t p = 0; p < problem.demand_cores.size(); ++p) {
    while (left[server] == 0) ++server;
    --left[server];
    placement.push_back(server);
  }
  return placement;
}

}  // namespace

Placement reference_placement(const Episode& episode, std::span<const Placement> made, std::size_t moves) {
  const FillProblem problem = fill_problem(episode);
  std::vector<Placement> starts{first_fit(problem)};
  for (const Placement& each : made) {
    const bool whole = std::find(each.begin(), each.end(), cluster::kNowhere) == each.end();
    if (whole && feasible(problem, each)) starts.push_back(each);
  }
  // Anneals the one of fewest watts.
  const auto watts = [&](const Placement& each) { return placement_w(problem, each); };
  const auto start = std::min_element(starts.begin(), starts.end(),
                                      [&](const Placement& a, const Placement& b) { return watts(a) < watts(b); });
  return anneal(problem, *start, moves, episode.seed);
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
  Bench(const Dataset& data, const BenchOptions& options) : data_(data), options_(options) {}

  Result<RunFigures> run_one(const Episode& episode, const std::optional<Episode>& before, const std::string& name) {
    WATTLE_TRY(const Contestant contestant, lab_contestant(without_requests(name), options_.network.get()));
    LiveRunOptions live;
    live.set_requests = sets(name);
    live.network = options_.learned;
    live.scheduler = options_.scheduler;
    live.defer_s = options_.defer_s;
    live.look_ahead = options_.look_ahead;
    // An oracle learns nothing from telemetry that would need to be fresh.
    if (episode.options.cluster_model == ClusterModel::truth) live.telemetry_period_s = 60;
    return run_live(episode, before ? &*before : nullptr, contestant, live);
  }

  Result<BenchTable> table(std::size_t nodes) {
    BenchTable table;
    table.nodes = nodes;
    for (const std::string& name : options_.rules) table.rules.push_back({name, {}, {}, {}, {}, {}});
    Options drawn = options_.episode;
    drawn.nodes = nodes;
    for (std::size_t k = 0; k < options_.seeds; ++k) {
      const std::uint64_t seed = options_.first_seed + k;
      Options own = drawn;
      if (!own.cluster_seed) own.cluster_seed = seed;
      const Episode episode = make_episode(data_, own, seed);
      std::optional<Episode> before;
      if (!options_.cold) before = episode_before(data_, drawn, seed);
      table.seeds.push_back(seed);
      table.days.push_back(episode.day->name);
      for (BenchRule& each : table.rules) {
        WATTLE_TRY(RunFigures figures, run_one(episode, before, each.name));
        each.runs.push_back(std::move(figures));
      }
      if (drawn.churn || options_.moves_per_pod == 0 || compares_by_work(drawn)) continue;
      std::vector<Placement> made;
      for (const BenchRule& each : table.rules) made.push_back(each.runs.back().placement);
      const Placement best = reference_placement(episode, made, options_.moves_per_pod * episode.pods.size());
      WATTLE_TRY(const RunFigures held, hold(episode, best));
      table.reference_j.push_back(held.energy_j);
    }
    compare(table);
    return table;
  }

 private:
  void compare(BenchTable& table) const;

  const Dataset& data_;
  const BenchOptions& options_;
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
  const auto base = find("kube-default"), floor = find("node-order"), planner = find("planner");
  for (BenchRule& each : table.rules) {
    if (!table.reference_j.empty()) each.gap = over(each, table.reference_j);
    if (base != table.rules.end()) each.over_default = over(each, energies(*base));
    if (floor != table.rules.end()) each.over_node_order = over(each, energies(*floor));
    if (planner != table.rules.end()) each.over_planner = over(each, energies(*planner));
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
