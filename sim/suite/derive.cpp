#include "sim/suite/derive.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::sim::suite {

namespace {

const Entry* find(const TrialResult& result, std::string_view name, std::size_t& at) {
  for (at = 0; at < result.entries.size(); ++at)
    if (result.entries[at].name == name) return &result.entries[at];
  return nullptr;
}

// The guardrail: of every 200 decisions' joules against the default's, the upper bound over seeds; the worst of them.
std::optional<double> worst_window(const std::vector<EpisodeTrace>& mine, const std::vector<EpisodeTrace>& base) {
  constexpr std::size_t kWindow = 200, kStep = 50, kFewest = 5;
  if (mine.size() < kFewest) return std::nullopt;
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
  const Entry* base = find(result, "kube_default", base_at);
  const Entry* truth = find(result, "true_greedy", truth_at);
  std::vector<double> p;
  for (std::size_t e = 0; e < result.entries.size(); ++e) {
    Entry& entry = result.entries[e];
    if (base) {
      const std::vector<double> ratio = ratios(entry.episodes, base->episodes, &EpisodeFigures::energy_j);
      entry.energy = Against{paired_iqm(ratio), &entry == base ? 1.0 : sign_flip_p(ratio), 1};
      if (&entry != base) p.push_back(entry.energy->p);
      entry.worst_window = worst_window(traces[e], traces[base_at]);
    }
    if (truth && result.scenario.trouble == Trouble::curves) {
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
}

}  // namespace wattle::sim::suite
