// suite_json: the suite as JSON: figures of every seed, intervals, and the report's plot data.
#include <cmath>

#include "common/json/value.hpp"
#include "common/version.hpp"
#include "lab/report/suite.hpp"
#include "placement/worth/features.hpp"

namespace wattle::sim::suite {

namespace {

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
    out["curves"].push_back(
        {{"name", each.name}, {"decisions", each.decisions}, {"reward", each.reward}, {"x", each.x}, {"y", each.y}});
  return out.dump() + "\n";
}

}  // namespace wattle::sim::suite
