#include "lab/report/suite.hpp"

#include <algorithm>
#include <cmath>

#include "common/json/value.hpp"
#include "common/version.hpp"
#include "lab/policies/lab_policies.hpp"
#include "lab/report/derive.hpp"
#include "placement/worth/features.hpp"

namespace wattle::sim::suite {

namespace {

constexpr std::array<Column, 20> kColumns{{
    {"energy_kj", "energy, kJ", &EpisodeFigures::energy_j, 1e-3, true},
    {"energy_per_pod_j", "energy of a pod, J", &EpisodeFigures::energy_per_pod_j, 1, true},
    {"energy_per_work_j", "energy of a core-second of work, J", &EpisodeFigures::energy_per_work_j, 1, true},
    {"active_node_s", "active node-seconds", &EpisodeFigures::active_node_s, 1, true},
    {"awake_nodes", "nodes awake", &EpisodeFigures::awake_nodes, 1, true},
    {"late_pct", "pod time beyond the soft latency, %", &EpisodeFigures::late_ratio, 100, true},
    {"latency_p95_ms", "latency, 95th percentile, ms", &EpisodeFigures::latency_p95_ms, 1, true},
    {"waiting_pct", "pod time waiting for CPU, %", &EpisodeFigures::pressure_ratio, 100, true},
    {"crowded_pct", "node time crowded, %", &EpisodeFigures::crowded_ratio, 100, true},
    {"imbalance_pct", "imbalance: sum of six standard deviations, points", &EpisodeFigures::imbalance_pct, 1, true},
    {"utilisation_pct", "mean CPU utilisation, %", &EpisodeFigures::utilisation_pct, 1, false},
    {"turned_away", "pods that found no place", &EpisodeFigures::turned_away, 1, true},
    {"pending_s", "wait for a place, mean, s", &EpisodeFigures::pending_s, 1, true},
    {"stranded_pct", "pod time on machines that are gone, %", &EpisodeFigures::stranded_ratio, 100, true},
    {"energy_per_request_j", "energy of a request, J", &EpisodeFigures::energy_per_request_j, 1, true},
    {"response_ms", "response, mean, ms", &EpisodeFigures::response_ms, 1, true},
    {"response_p95_ms", "response, 95th percentile, ms", &EpisodeFigures::response_p95_ms, 1, true},
    {"failed_pct", "requests that failed, %", &EpisodeFigures::failed_ratio, 100, true},
    {"recover_decisions", "decisions to recover", &EpisodeFigures::recover_decisions, 1, true},
    {"aftermath_w", "watts afterwards", &EpisodeFigures::aftermath_w, 1, true},
}};

constexpr std::size_t kQuickSeeds = 2, kQuickPlacements = 60;

bool wanted(const Options& options, const Trial& trial) {
  if (!options.trials.empty())
    return std::find(options.trials.begin(), options.trials.end(), trial.scenario) != options.trials.end();
  return !options.quick || trial.quick;
}

Scenario sized(Scenario scenario, bool quick) {
  if (quick) scenario.placements = std::min(scenario.placements, kQuickPlacements);
  return scenario;
}

struct Run {
  const Options& options;
  const Progress& progress;
  double total = 0, done = 0;
  void step(const std::string& what) {
    if (progress) progress(total > 0 ? done / total : 0, what);
    done += 1;
  }
};

// All seeds of one contestant, with whole traces for derived figures.
struct Played {
  std::vector<EpisodeFigures> episodes;
  std::vector<EpisodeTrace> traces;
};
// `known`: the controller's initial cluster model per seed.
Result<Played> play(Env& env, const Contestant& contestant, const std::vector<std::uint64_t>& seeds,
                    const std::vector<std::string>& known) {
  Played played;
  for (std::size_t k = 0; k < seeds.size(); ++k) {
    EpisodeTrace trace;
    WATTLE_TRY(EpisodeFigures figures, run_episode(env, contestant, seeds[k], &trace, known[k]));
    played.episodes.push_back(figures);
    played.traces.push_back(std::move(trace));
  }
  return played;
}

Result<TrialResult> run_trial(Run& run, const Trial& trial, const std::vector<std::uint64_t>& seeds) {
  TrialResult result;
  result.trial = trial;
  result.seeds = seeds;
  EnvOptions options;
  WATTLE_TRY(const Scenario found, find_scenario(trial.scenario));
  options.scenario = result.scenario = sized(found, run.options.quick);
  options.measured = run.options.measured;
  options.reward = run.options.reward;
  std::vector<std::string> known(seeds.size());
  if (run.options.warm) {
    WATTLE_TRY(known, learned_in_shadow(options, seeds));
  }
  Env env(options);
  std::vector<std::vector<EpisodeTrace>> traces;
  for (const Contestant& contestant : run.options.contestants) {
    run.step(std::string(trial.scenario) + " " + contestant.name);
    WATTLE_TRY(Played played, play(env, contestant, seeds, known));
    Entry entry;
    entry.name = contestant.name;
    entry.episodes = std::move(played.episodes);
    entry.trace = played.traces.front();
    traces.push_back(std::move(played.traces));
    if (!trial.control.empty()) {
      WATTLE_TRY(const Scenario control, find_scenario(trial.control));
      EnvOptions calm = options;
      calm.scenario = sized(control, run.options.quick);
      Env other(calm);
      WATTLE_TRY(const Played spread, play(other, contestant, seeds, known));
      entry.lost_to_burst = paired_iqm(ratios(entry.episodes, spread.episodes, &EpisodeFigures::aftermath_w));
    }
    result.entries.push_back(std::move(entry));
  }
  derive(result, traces);
  return result;
}

// Consolidation at the sizes and settings of the page.
struct ConsolidationSetting {
  const char* name;
  bool sleep, churn;
  consolidation::ClusterModel cluster_model;
  bool cold;
  double fill_low, fill_high;
  bool quick;
  bool crowded = false;
};
constexpr auto kOracle = consolidation::ClusterModel::truth, kProduction = consolidation::ClusterModel::production;
constexpr std::array<ConsolidationSetting, 14> kConsolidationSettings{
    {{"consolidation_fill, always on, oracle knowledge", false, false, kOracle, false, 0.60, 0.68, true},
     {"consolidation_fill, idle nodes sleep, oracle knowledge", true, false, kOracle, false, 0.60, 0.68, true},
     {"consolidation_churn, idle nodes sleep, oracle knowledge", true, true, kOracle, false, 0.60, 0.68, true},
     {"consolidation_fill, always on, production knowledge, warm", false, false, kProduction, false, 0.60, 0.68, false},
     {"consolidation_fill, always on, production knowledge, cold", false, false, kProduction, true, 0.60, 0.68, false},
     {"consolidation_fill, idle nodes sleep, production knowledge, warm", true, false, kProduction, false, 0.60, 0.68,
      false},
     {"consolidation_fill, idle nodes sleep, production knowledge, cold", true, false, kProduction, true, 0.60, 0.68,
      false},
     {"consolidation_churn, idle nodes sleep, production knowledge, warm", true, true, kProduction, false, 0.60, 0.68,
      false},
     {"consolidation_churn, idle nodes sleep, production knowledge, cold", true, true, kProduction, true, 0.60, 0.68,
      false},
     {"consolidation_fill, crowded, always on, production knowledge, cold", false, false, kProduction, true, 0.60, 0.68,
      false, true},
     {"consolidation_fill, crowded, idle nodes sleep, production knowledge, cold", true, false, kProduction, true, 0.60,
      0.68, false, true},
     {"consolidation_churn, crowded, always on, production knowledge, cold", false, true, kProduction, true, 0.60, 0.68,
      false, true},
     {"consolidation_churn, crowded, idle nodes sleep, production knowledge, cold", true, true, kProduction, true, 0.60,
      0.68, false, true},
     {"consolidation_fill, 20-90% requested, idle nodes sleep, oracle knowledge", true, false, kOracle, false, 0.20,
      0.90, false}}};

bool wanted(const Options& options, const ConsolidationSetting& setting) { return !options.quick || setting.quick; }

Status run_consolidation(Run& run, SuiteResult& result) {
  for (const ConsolidationSetting& setting : kConsolidationSettings) {
    if (!wanted(run.options, setting)) continue;
    run.step(setting.name);
    consolidation::BenchOptions options;
    options.episode.sleep = setting.sleep;
    options.episode.churn = setting.churn;
    options.episode.cluster_model = setting.cluster_model;
    options.episode.crowded = setting.crowded;
    options.episode.fill_low = setting.fill_low;
    options.episode.fill_high = setting.fill_high;
    options.cold = setting.cold;
    options.first_seed = run.options.first_seed;
    options.seeds = run.options.quick ? std::min<std::size_t>(2, run.options.seeds) : run.options.seeds;
    options.nodes = run.options.quick ? std::vector<std::size_t>{4} : std::vector<std::size_t>{10, 30};
    if (run.options.quick) options.episode.warm_s = options.episode.measure_s = 3 * 3600;
    options.moves_per_pod = run.options.quick ? 100 : 1000;
    options.rules = {"kube-default", "random",    "round-robin", "most-allocated", "peaks",
                     "greedy",       "amortised", "node-order",  "planner"};
    if (run.options.consolidation_network) {
      options.network = run.options.consolidation_network;
      options.learned.margin = 0;
      options.rules.emplace_back("dqn");
    }
    WATTLE_TRY(consolidation::BenchResult bench, consolidation::bench(*run.options.consolidation, options));
    result.consolidation.push_back({setting.name, std::move(bench)});
  }
  return {};
}

using json = SortedJson;

constexpr std::size_t kPoints = 150;  // in a plot over time
constexpr std::size_t kPlottedNodes = 30;

// Six digits exceed the accuracy of all figures here, and keep the file small.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

json interval_json(const Interval& interval) {
  const auto end = [&](double value) { return interval.known() ? json(rounded(value)) : json(nullptr); };
  return {{"iqm", rounded(interval.mean)}, {"low", end(interval.low)}, {"high", end(interval.high)}};
}

json trace_json(const EpisodeTrace& trace) {
  const std::size_t n = trace.at_s.size();
  const std::size_t step = std::max<std::size_t>(1, n / kPoints);
  json at = json::array(), energy = json::array(), pods = json::array();
  for (std::size_t i = 0; i < n; i += step) {
    at.push_back(rounded(trace.at_s[i]));
    energy.push_back(rounded(trace.energy_j[i] / 1000));
    std::vector<std::uint16_t> row = trace.pods[i];
    if (row.size() > kPlottedNodes) row.resize(kPlottedNodes);
    pods.push_back(row);
  }
  return {{"at_s", at}, {"energy_kj", energy}, {"pods", pods}};
}

json entry_json(const Entry& entry) {
  json figures, seeds;
  for (const Column& column : columns()) {
    const std::string name(column.name);
    figures[name] = interval_json(entry.of(column));
    for (const EpisodeFigures& each : entry.episodes) seeds[name].push_back(rounded(column.scale * each.*column.what));
  }
  json out = {{"name", entry.name}, {"figures", figures}, {"per_seed", seeds}, {"trace", trace_json(entry.trace)}};
  double deviates = 0;
  for (const EpisodeFigures& each : entry.episodes)
    deviates += each.deviates_ratio / static_cast<double>(entry.episodes.size());
  out["deviates_pct"] = rounded(100 * deviates);
  if (entry.energy) {
    out["energy_over_default"] = interval_json(entry.energy->ratio);
    out["p"] = rounded(entry.energy->p);
    out["holm_p"] = rounded(entry.energy->holm_p);
  }
  out["against"] = json::array();
  for (const Comparison& each : entry.comparisons) {
    json one = interval_json(each.against.ratio);
    one["column"] = each.column;
    one["base"] = each.base;
    one["p"] = rounded(each.against.p);
    one["holm_p"] = rounded(each.against.holm_p);
    out["against"].push_back(one);
  }
  if (entry.lost_to_burst) out["lost_to_burst"] = interval_json(*entry.lost_to_burst);
  if (entry.recovered_after) out["recovered_after_decisions"] = interval_json(*entry.recovered_after);
  if (entry.worst_window) out["worst_window_over_default"] = rounded(*entry.worst_window);
  return out;
}

json trial_json(const TrialResult& result) {
  json entries = json::array(), merits = json::array();
  for (const Entry& each : result.entries) entries.push_back(entry_json(each));
  for (const std::string_view each : result.trial.merits) merits.push_back(each);
  return {{"scenario", result.scenario.name},
          {"help", result.scenario.help},
          {"nodes", result.scenario.nodes},
          {"placements", result.scenario.placements},
          {"seeds", result.seeds},
          {"merits", merits},
          {"entries", entries}};
}

}  // namespace

std::span<const Column> columns() { return kColumns; }

std::vector<Contestant> standard_contestants(std::vector<Contestant> learned) {
  std::vector<Contestant> all = std::move(learned);
  for (const char* name : {"model-greedy", "planner", "node-order", "amortised", "greedy", "peaks", "kube-default",
                           "most-allocated", "target-load-packing", "lvrb", "koordinator", "fewest-pods", "most-pods",
                           "round-robin", "random", "true-greedy"})
    all.push_back(lab_contestant(name).value());
  std::find_if(all.begin(), all.end(), [](const Contestant& each) { return each.name == "most-allocated"; })->binding =
      Binding::alone;  // a profile of kube-scheduler
  return all;
}

Interval Entry::of(const Column& column) const {
  std::vector<std::vector<double>> one(1);
  for (const EpisodeFigures& each : episodes) one[0].push_back(column.scale * each.*column.what);
  return iqm_interval(one);
}

Result<SuiteResult> run(const Options& options, const Progress& progress) {
  for (const std::string& name : options.trials) {
    if (name == kConsolidation ||
        std::any_of(kTrials.begin(), kTrials.end(), [&](const Trial& each) { return each.scenario == name; }))
      continue;
    std::string names(kConsolidation);
    for (const Trial& each : kTrials) names += ", " + std::string(each.scenario);
    return fail(Errc::not_found, "scenario " + name, "is unknown", "one of " + names);
  }
  SuiteResult result;
  result.quick = options.quick;
  result.warm = options.warm;
  result.data = options.consolidation ? options.consolidation->origin : "synthetic";
  const auto seeds =
      seeds_from(options.first_seed, options.quick ? std::min(kQuickSeeds, options.seeds) : options.seeds);
  const bool with_consolidation =
      options.consolidation && (options.trials.empty() || std::find(options.trials.begin(), options.trials.end(),
                                                                    kConsolidation) != options.trials.end());
  Run running{options, progress};
  if (with_consolidation)
    for (const ConsolidationSetting& setting : kConsolidationSettings)
      running.total += wanted(options, setting) ? 1 : 0;
  for (const Trial& trial : kTrials)
    if (wanted(options, trial)) running.total += static_cast<double>(options.contestants.size());
  for (const Trial& trial : kTrials) {
    if (!wanted(options, trial)) continue;
    WATTLE_TRY(TrialResult one, run_trial(running, trial, seeds));
    result.trials.push_back(std::move(one));
  }
  if (with_consolidation) WATTLE_CHECK(run_consolidation(running, result));
  if (progress) progress(1, "");
  return result;
}

std::string to_json(const SuiteResult& result, const std::vector<Curve>& curves) {
  json out;
  out["version"] = kVersion;
  out["feature_schema"] = placement::feature_schema_hash();
  out["quick"] = result.quick;
  out["warm"] = result.warm;
  out["data"] = result.data;
  out["interval"] = "inter-quartile mean over seeds, 95% percentile bootstrap, 10000 resamples";
  out["test"] = "energy against kube-default: paired sign permutation, Holm over the contestants of a trial";
  for (const Column& column : columns())
    out["columns"].push_back(
        {{"name", column.name}, {"title", column.title}, {"lower_is_better", column.lower_is_better}});
  out["trials"] = json::array();
  for (const TrialResult& each : result.trials) out["trials"].push_back(trial_json(each));
  out[kConsolidation] = json::array();
  for (const ConsolidationResult& each : result.consolidation)
    out[kConsolidation].push_back({{"name", each.name}, {"bench", json::parse(consolidation::to_json(each.bench))}});
  out["curves"] = json::array();
  for (const Curve& each : curves)
    out["curves"].push_back({{"name", each.name}, {"decisions", each.decisions}, {"reward", each.reward}});
  return out.dump() + "\n";
}

std::string to_html(const std::string& json) {
  // Within a script element only "</" could end it early. In JSON that can only be in a string, where \/ means the
  // same.
  std::string data;
  data.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '/' && i > 0 && json[i - 1] == '<') data += '\\';
    data += json[i];
  }
  const std::string_view page = report_page(), mark = "@DATA@";
  const std::size_t at = page.find(mark);
  return std::string(page.substr(0, at)) + data + std::string(page.substr(at + mark.size()));
}

}  // namespace wattle::sim::suite
