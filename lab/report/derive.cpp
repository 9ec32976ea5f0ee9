#include "lab/report/derive.hpp"

#include <algorithm>
#include <cassert>

namespace wattle::sim::suite {

namespace {

const Entry* find(const TrialResult& result, std::string_view name, std::size_t& at) {
  for (at = 0; at < result.entries.size(); ++at)
    if (result.entries[at].name == name) return &result.entries[at];
  return nullptr;
}

// The guardrail: the upper bound over seeds of each 200 decisions' joules relative to the default's; returns the worst.
std::optional<double> worst_window(const std::vector<EpisodeTrace>& mine, const std::vector<EpisodeTrace>& base) {
  constexpr std::size_t kWindow = 200, kStep = 50;
  if (!enough_seeds(mine.size())) return std::nullopt;
  std::size_t shortest = mine.front().energy_j.size();
  for (std::size_t s = 0; s < mine.size(); ++s)
    shortest = std::min({shortest, mine[s].energy_j.size(), base[s].energy_j.size()});
  std::optional<double> worst;
  for (std::size_t i = 0; i + kWindow < shortest; i += kStep) {
    std::vector<double> ratio;
    for (std::size_t s = 0; s < mine.size(); ++s)
      ratio.push_back((mine[s].energy_j[i + kWindow] - mine[s].energy_j[i]) /
                          (base[s].energy_j[i + kWindow] - base[s].energy_j[i]) -
                      1);
    worst = std::max(worst.value_or(-1), paired_iqm(ratio).high);
  }
  return worst;
}

const Column& column_of(std::string_view name) {
  const auto all = columns();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Column& each) { return each.name == name; });
  assert(found != all.end());
  return *found;
}

// Compares all contestants' figures in one column with those of one contestant.
void compare(TrialResult& result, std::string_view name, std::string_view base_name) {
  std::size_t at = 0;
  const Entry* base = find(result, base_name, at);
  if (!base) return;
  const Column& column = column_of(name);
  const auto values = [&](const Entry& entry) {
    std::vector<double> out;
    for (const EpisodeFigures& each : entry.episodes) out.push_back(each.*column.what);
    return out;
  };
  const std::vector<double> theirs = values(*base);
  std::vector<double> p;
  std::vector<Comparison*> made;
  for (Entry& entry : result.entries) {
    if (&entry == base) continue;
    const std::vector<double> mine = values(entry);
    const auto ratio = iqm_ratio(mine, theirs);
    if (!ratio) continue;
    std::vector<double> differences;
    for (std::size_t s = 0; s < mine.size(); ++s) differences.push_back(mine[s] - theirs[s]);
    p.push_back(sign_flip_p(differences));
    entry.comparisons.push_back({std::string(name), std::string(base_name), {*ratio, p.back(), 1}});
    made.push_back(&entry.comparisons.back());
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < made.size(); ++i) made[i]->against.holm_p = corrected[i];
}

}  // namespace

std::vector<double> ratios(const std::vector<EpisodeFigures>& a, const std::vector<EpisodeFigures>& b,
                           double EpisodeFigures::*what) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(b[i].*what != 0 ? a[i].*what / b[i].*what - 1 : 0);
  return out;
}

Interval paired_iqm(const std::vector<double>& values) {
  const std::vector<std::vector<double>> one{values};
  return iqm_interval(one);
}

double recovered_after(const EpisodeTrace& trace, const EpisodeTrace& reference, double from_s) {
  constexpr std::size_t kWindow = 30;
  constexpr double kNear = 1.02;
  const std::size_t n = std::min(trace.at_s.size(), reference.at_s.size());
  const auto first =
      static_cast<std::size_t>(std::lower_bound(trace.at_s.begin(), trace.at_s.end(), from_s) - trace.at_s.begin());
  for (std::size_t i = first; i + kWindow < n; ++i) {
    const double mine = trace.energy_j[i + kWindow] - trace.energy_j[i];
    const double theirs = reference.energy_j[i + kWindow] - reference.energy_j[i];
    if (mine <= kNear * theirs) return static_cast<double>(i - first);
  }
  return static_cast<double>(n > first ? n - first : 0);
}

void derive(TrialResult& result, const std::vector<std::vector<EpisodeTrace>>& traces) {
  std::size_t base_at = 0, truth_at = 0;
  const Entry* base = find(result, "kube-default", base_at);
  const Entry* truth = find(result, "true-greedy", truth_at);
  std::vector<double> p;
  for (std::size_t e = 0; e < result.entries.size(); ++e) {
    Entry& entry = result.entries[e];
    if (base) {
      const std::vector<double> ratio = ratios(entry.episodes, base->episodes, &EpisodeFigures::energy_j);
      entry.energy = Against{paired_iqm(ratio), &entry == base ? 1.0 : sign_flip_p(ratio), 1};
      if (&entry != base) p.push_back(entry.energy->p);
      entry.worst_window = worst_window(traces[e], traces[base_at]);
    }
    if (truth && result.scenario.trouble == FaultKind::curves) {
      std::vector<double> decisions;
      for (std::size_t s = 0; s < result.seeds.size(); ++s)
        decisions.push_back(recovered_after(traces[e][s], traces[truth_at][s], traces[e][s].curves_change_s));
      entry.recovered_after = paired_iqm(decisions);
    }
  }
  const std::vector<double> corrected = holm(p);
  std::size_t next = 0;
  for (Entry& entry : result.entries)
    if (entry.energy && &entry != base) entry.energy->holm_p = corrected[next++];
  for (const std::string_view merit : result.trial.merits)
    if (merit != "energy_kj") compare(result, merit, "kube-default");  // `energy` has it, seed by seed
  // Scenarios with users compare joules per request.
  const bool served = result.scenario.users > 0 || result.scenario.kind == Kind::scaled;
  for (const char* base_name : {"round-robin", "node-order"})
    compare(result, served ? "energy_per_request_j" : "energy_kj", base_name);
}

}  // namespace wattle::sim::suite
