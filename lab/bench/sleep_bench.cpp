#include "lab/bench/sleep_bench.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "common/formatted.hpp"
#include "sim/env/statistics.hpp"

namespace wattle::sim::consolidation {

namespace {

struct Sums {
  double awake_nodes = 0, node_days = 0, pods = 0, sleeps = 0, losing = 0, bursts = 0, bursts_awake = 0;
  double moves = 0, drains = 0, misplaced = 0, waiting_ratio = 0;
  std::vector<double> waits_s;
};

Sums sum(const std::vector<SleepFigures>& runs) {
  Sums all;
  for (const SleepFigures& run : runs) {
    all.awake_nodes += run.awake_nodes / static_cast<double>(runs.size());
    all.waiting_ratio += run.waiting_ratio / static_cast<double>(runs.size());
    all.node_days += run.node_days;
    all.pods += run.pods;
    all.sleeps += run.sleeps;
    all.losing += run.losing;
    all.bursts += run.bursts;
    all.bursts_awake += run.bursts_awake;
    all.moves += run.moves;
    all.drains += run.drains;
    all.misplaced += run.misplaced;
    all.waits_s.insert(all.waits_s.end(), run.waits_s.begin(), run.waits_s.end());
  }
  std::sort(all.waits_s.begin(), all.waits_s.end());
  return all;
}

double share(double part, double all) { return all > 0 ? 100 * part / all : 0; }

double at_share(const std::vector<double>& ascending, double part) {
  if (ascending.empty()) return 0;
  return ascending[std::min(ascending.size() - 1,
                            static_cast<std::size_t>(part * static_cast<double>(ascending.size())))];
}

constexpr std::array<std::string_view, 5> kBases{"kube-default", "always-on", "dpm", "clairvoyant",
                                                 "clairvoyant-moves"};

// A rule, and its runs by seed.
struct Played {
  std::string rule;
  std::vector<SleepFigures> runs;
};

// A rule that others are compared with, and its joules by seed.
struct Base {
  std::string name;
  std::vector<double> joules;
};

std::vector<double> joules(const Played& played) {
  std::vector<double> by_seed;
  for (const SleepFigures& run : played.runs) by_seed.push_back(run.energy_j);
  return by_seed;
}

// In hindsight: on each fleet the idle time with the least joules. No value without a rule slurm-N.
std::optional<Base> best_slurm(const std::vector<Played>& all) {
  Base best{"the best slurm", {}};
  for (const Played& played : all) {
    if (played.rule.rfind("slurm-", 0) != 0) continue;
    std::vector<double> by_seed = joules(played);
    for (std::size_t k = 0; k < best.joules.size(); ++k) by_seed[k] = std::min(by_seed[k], best.joules[k]);
    best.joules = std::move(by_seed);
  }
  return best.joules.empty() ? std::nullopt : std::optional(std::move(best));
}

std::vector<Base> bases_of(const std::vector<Played>& all) {
  std::vector<Base> bases;
  for (const std::string_view base : kBases)
    for (const Played& played : all)
      if (played.rule == base) bases.push_back({played.rule, joules(played)});
  if (std::optional<Base> best = best_slurm(all)) bases.push_back(std::move(*best));
  return bases;
}

std::string head_of(const std::vector<Base>& bases) {
  std::string names = "| rule |", rule = "|---|";
  for (const Base& base : bases) {
    names += " energy over " + base.name + ", % |";
    rule += "---|";
  }
  return names +
         " nodes on | pods that waited, % | p99 of their wait, s | sleeps per node and day | that lost energy, % | "
         "bursts met awake, % | moves, % of pods | misplaced, % | waiting for CPU, % |\n" +
         rule + "---|---|---|---|---|---|---|---|---|\n";
}

std::string row_of(const Played& played, const std::vector<Base>& bases) {
  const Sums all = sum(played.runs);
  std::string row = "| " + played.rule + " |";
  for (const Base& base : bases)
    row += " " + interval_text(paired_ratio(joules(played), base.joules), {1, 100, true}) + " |";
  return row + formatted(" %.1f | %.2f | %.0f | %.2f | %.1f | %.0f | %.2f | %.0f | %.2f |\n", all.awake_nodes,
                         share(static_cast<double>(all.waits_s.size()), all.pods), at_share(all.waits_s, 0.99),
                         all.node_days > 0 ? all.sleeps / all.node_days : 0, share(all.losing, all.sleeps),
                         share(all.bursts_awake, all.bursts), share(all.moves, all.pods),
                         share(all.misplaced, all.moves), 100 * all.waiting_ratio);
}

}  // namespace

Result<std::string> sleep_bench(const Dataset& data, const SleepBenchOptions& options) {
  std::string text;
  for (const std::size_t nodes : options.nodes) {
    SleepEpisodeOptions drawn = options.episode;
    drawn.nodes = nodes;
    std::vector<Played> all;
    for (const std::string& rule : options.rules) all.push_back({rule, {}});
    for (std::size_t k = 0; k < options.seeds; ++k) {
      const SleepEpisode episode = make_sleep_episode(data, drawn, options.first_seed + k);
      for (Played& played : all) {
        WATTLE_TRY(SleepFigures figures, run_sleep(episode, played.rule, options.depth));
        played.runs.push_back(std::move(figures));
      }
    }
    text += formatted("%zu nodes, %zu seeds from %llu, depth %s\n\n", nodes, options.seeds,
                      static_cast<unsigned long long>(options.first_seed),
                      std::string(placement::sleep::to_string(options.depth)).c_str());
    const std::vector<Base> bases = bases_of(all);
    text += head_of(bases);
    for (const Played& played : all) text += row_of(played, bases);
    text += "\n";
  }
  return text + seeds_note(options.seeds, "--seeds");
}

}  // namespace wattle::sim::consolidation
