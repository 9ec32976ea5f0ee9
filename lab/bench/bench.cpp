#include "lab/bench/bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
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
    live.extender_weight = options_.extender_weight;
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

namespace {

std::string percent(const std::optional<Interval>& interval) {
  return interval ? interval_text(*interval, {.scale = 100}) : "-";
}

double mean_of(const BenchRule& rule, double RunFigures::*what) {
  std::vector<double> values;
  for (const RunFigures& each : rule.runs) values.push_back(each.*what);
  return mean(values);
}

std::string joules_of_work(const BenchRule& rule) {
  std::vector<double> values;
  for (const RunFigures& each : rule.runs) values.push_back(each.energy_j / each.work_core_s);
  return std::isfinite(values.front()) ? fixed(mean(values), 2) : "-";
}

double share(const WaitedTime& time) { return time.pod_s > 0 ? time.waited_pod_s / time.pod_s : 0; }

// Sums over all seeds, hour by hour.
std::vector<WaitedTime> hours_of(const BenchRule& rule) {
  std::vector<WaitedTime> hours;
  for (const RunFigures& run : rule.runs) {
    if (hours.size() < run.hours.size()) hours.resize(run.hours.size());
    for (std::size_t hour = 0; hour < run.hours.size(); ++hour) {
      hours[hour].pod_s += run.hours[hour].pod_s;
      hours[hour].waited_pod_s += run.hours[hour].waited_pod_s;
    }
  }
  return hours;
}

// Counts the hours, from the second on, in which pods waited beyond the limit, over all seeds.
std::string hours_over(const BenchRule& rule) {
  std::size_t over = 0, all = 0;
  for (const RunFigures& run : rule.runs) {
    for (std::size_t hour = 1; hour < run.hours.size(); ++hour, ++all)
      if (share(run.hours[hour]) > run.wait_limit) ++over;
  }
  return std::to_string(over) + " of " + std::to_string(all);
}

// Waiting of pods for CPU, if it is simulated.
std::string waiting_table(const BenchTable& table) {
  if (table.rules.empty() || table.rules.front().runs.front().hours.size() < 2) return {};
  std::string out = "\nwaiting for CPU, % of pods' time, from the second hour on; hour by hour, all seeds together\n" +
                    std::string(15, ' ') + padded("from 2nd hour", 24) + padded("limit", 8) +
                    padded("hours beyond", 15) + "  by hour\n";
  for (const BenchRule& rule : table.rules) {
    out += rule.name + std::string(rule.name.size() < 15 ? 15 - rule.name.size() : 1, ' ') +
           padded(percent(rule.later_waiting), 24) + padded(fixed(100 * mean_of(rule, &RunFigures::wait_limit), 2), 8) +
           padded(hours_over(rule), 15) + " ";
    for (const WaitedTime& hour : hours_of(rule)) out += " " + fixed(100 * share(hour), 2);
    out += "\n";
  }
  return out;
}

// Shares of placements that gave one node, and one zone, more than half of an owner's replicas.
std::string over_half(const BenchRule& rule) {
  const double replicas = std::max(1.0, mean_of(rule, &RunFigures::replicas));
  return fixed(100 * mean_of(rule, &RunFigures::node_over_half) / replicas, 2) + ", " +
         fixed(100 * mean_of(rule, &RunFigures::zone_over_half) / replicas, 2);
}

std::string describe(const BenchResult& result) {
  const Options& options = result.options.episode;
  std::string text = std::string("consolidation_") + (options.churn ? "churn" : "fill") +
                     (options.sleep ? ", idle nodes sleep" : ", always on") + ", " +
                     std::string(to_string(options.cluster_model)) + " knowledge" +
                     (result.options.cold ? ", cold" : ", warm");
  if (!options.churn)
    text += ", " + fixed(100 * options.fill_low, 0) + "-" + fixed(100 * options.fill_high, 0) + "% requested";
  if (options.sizes == Sizes::openb) text += ", sizes and lives of openb";
  if (options.crowded) text += ", crowded";
  text += ", at most " + fixed(100 * options.owner_share, 0) + "% of an owner on a node or in one of " +
          std::to_string(options.zones) + " zones";
  if (options.pairs > 0) text += ", pairs disturb each other by " + fixed(options.pairs, 2);
  if (result.options.defer_s > 0) text += ", put off for " + fixed(result.options.defer_s, 0) + " s at most";
  if (result.options.look_ahead > 0) text += ", " + std::to_string(result.options.look_ahead) + " next pods known";
  return text + ", data: " + result.origin + " (" + (options.side == Side::report ? "reporting" : "training") +
         " servers and days)";
}

SortedJson interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"iqm", interval->mean}, {"low", interval->low}, {"high", interval->high}};
}

}  // namespace

std::string to_table(const BenchResult& result) {
  std::string out = describe(result) + "\n";
  for (const BenchTable& table : result.tables) {
    out += "\n" + std::to_string(table.nodes) + " nodes, " + std::to_string(table.seeds.size()) +
           " paired seeds from " + std::to_string(table.seeds.front()) + "; inter-quartile means [95% intervals], %\n" +
           std::string(15, ' ') + padded("kWh", 9) + padded("waiting %", 11) + padded("gap to full knowl.", 24) +
           padded("energy / default - 1", 26) + padded("energy / node-order - 1", 26) +
           padded("energy / planner - 1", 26) + padded("awake", 8) + padded("wakes", 8) + padded("refused", 8) +
           padded("for a place s", 15) + padded("put off s", 11) + padded("J/core-s", 10) +
           padded("over half: node, zone %", 26) + "\n";
    for (const BenchRule& rule : table.rules) {
      out += rule.name + std::string(rule.name.size() < 15 ? 15 - rule.name.size() : 1, ' ') +
             padded(fixed(mean_of(rule, &RunFigures::energy_j) / 3.6e6, 2), 9) +
             padded(fixed(100 * mean_of(rule, &RunFigures::waiting), 3), 11) + padded(percent(rule.gap), 24) +
             padded(percent(rule.over_default), 26) + padded(percent(rule.over_node_order), 26) +
             padded(percent(rule.over_planner), 26) + padded(fixed(mean_of(rule, &RunFigures::awake_nodes), 2), 8) +
             padded(fixed(mean_of(rule, &RunFigures::wakes), 1), 8) +
             padded(fixed(mean_of(rule, &RunFigures::refused), 1), 8) +
             padded(fixed(mean_of(rule, &RunFigures::pending_s), 1), 15) +
             padded(fixed(mean_of(rule, &RunFigures::deferred_s), 1), 11) + padded(joules_of_work(rule), 10) +
             padded(over_half(rule), 26);
      if (result.options.episode.pairs > 0)
        out += "  lived " + fixed(100 * (mean_of(rule, &RunFigures::life_stretch) - 1), 2) + "% longer";
      if (rule.name == "dqn-measured")
        out += "  left out " + fixed(100 * mean_of(rule, &RunFigures::network_gated), 1) + "%";
      if (rule.name.ends_with("requests"))
        out += "  set " + fixed(mean_of(rule, &RunFigures::requests_set), 0) + " times, " +
               fixed(mean_of(rule, &RunFigures::given_up_cores), 1) + " cores and " +
               fixed(mean_of(rule, &RunFigures::given_up_bytes) / (1 << 30), 1) + " GiB given up";
      out += "\n";
    }
    out += waiting_table(table);
    out += seeds_note(table.seeds.size(), "--seeds");
  }
  return out;
}

std::string to_json(const BenchResult& result) {
  const Options& options = result.options.episode;
  SortedJson out;
  out["what"] = describe(result);
  out["options"] = {{"sleep", options.sleep},
                    {"churn", options.churn},
                    {"sizes", options.sizes == Sizes::openb ? "openb" : "one-core"},
                    {"crowded", options.crowded},
                    {"pairs", options.pairs},
                    {"knowledge", to_string(options.cluster_model)},
                    {"owner_share", options.owner_share},
                    {"zones", options.zones},
                    {"side", options.side == Side::report ? "report" : "train"},
                    {"fill_low", options.fill_low},
                    {"fill_high", options.fill_high},
                    {"cold", result.options.cold},
                    {"defer_s", result.options.defer_s},
                    {"look_ahead", result.options.look_ahead},
                    {"moves_per_pod", result.options.moves_per_pod}};
  for (const BenchTable& table : result.tables) {
    SortedJson rules = SortedJson::array();
    for (const BenchRule& rule : table.rules) {
      SortedJson runs = SortedJson::array();
      for (const RunFigures& each : rule.runs) {
        SortedJson hours = SortedJson::array();
        SortedJson joules = SortedJson::array();
        for (const WaitedTime& hour : each.hours) {
          hours.push_back(share(hour));
          joules.push_back(hour.work_core_s > 0 ? SortedJson(hour.energy_j / hour.work_core_s) : SortedJson());
        }
        runs.push_back({{"energy_j", each.energy_j},
                        {"awake_nodes", each.awake_nodes},
                        {"wakes", each.wakes},
                        {"wake_wait_s", each.wake_wait_s},
                        {"waiting", each.waiting},
                        {"wait_limit", each.wait_limit},
                        {"cpu_waiting_by_hour", std::move(hours)},
                        {"joules_per_core_s_by_hour", std::move(joules)},
                        {"life_stretch", each.life_stretch},
                        {"replicas", each.replicas},
                        {"node_over_half", each.node_over_half},
                        {"zone_over_half", each.zone_over_half},
                        {"refused", each.refused},
                        {"pending_s", each.pending_s},
                        {"deferred_s", each.deferred_s},
                        {"deferrals", each.deferrals},
                        {"work_core_s", each.work_core_s},
                        {"requests_set", each.requests_set},
                        {"given_up_cores", each.given_up_cores},
                        {"given_up_bytes", each.given_up_bytes},
                        {"left_out", each.network_gated},
                        {"placements", each.placements}});
      }
      rules.push_back({{"name", rule.name},
                       {"gap", interval_json(rule.gap)},
                       {"energy_over_default", interval_json(rule.over_default)},
                       {"energy_over_node_order", interval_json(rule.over_node_order)},
                       {"energy_over_planner", interval_json(rule.over_planner)},
                       {"waiting", interval_json(rule.waiting)},
                       {"cpu_waiting_from_second_hour", interval_json(rule.later_waiting)},
                       {"runs", std::move(runs)}});
    }
    out["tables"].push_back({{"nodes", table.nodes},
                             {"seeds", table.seeds},
                             {"days", table.days},
                             {"reference_j", table.reference_j},
                             {"rules", std::move(rules)}});
  }
  return out.dump(2) + "\n";
}

}  // namespace wattle::sim::consolidation
