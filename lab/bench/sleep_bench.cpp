#include "lab/bench/sleep_bench.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/env/statistics.hpp"

namespace wattle::sim::consolidation {

namespace {

template <class... Values>
std::string line(const char* form, Values... values) {
  std::array<char, 320> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

struct Sums {
  double awake_nodes = 0, node_days = 0, pods = 0, sleeps = 0, losing = 0, bursts = 0, bursts_awake = 0;
  double moves = 0, drains = 0, misplaced = 0;
  std::vector<double> waits_s;
};

Sums sum(const std::vector<SleepFigures>& runs) {
  Sums all;
  for (const SleepFigures& run : runs) {
    all.awake_nodes += run.awake_nodes / static_cast<double>(runs.size());
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

// Joules per seed of a rule and of the two that all are compared with.
struct Joules {
  std::vector<double> own, always_on, clairvoyant;
};

std::string row_of(const std::string& rule, const Joules& joules, const std::vector<SleepFigures>& runs) {
  const Sums all = sum(runs);
  const std::string on = interval_text(paired_ratio(joules.own, joules.always_on), {1, 100, true});
  const std::string best = interval_text(paired_ratio(joules.own, joules.clairvoyant), {1, 100, true});
  return line("| %s | %s | %s | %.1f | %.2f | %.0f | %.2f | %.1f | %.0f | %.2f | %.0f |\n", rule.c_str(), on.c_str(),
              best.c_str(), all.awake_nodes, share(static_cast<double>(all.waits_s.size()), all.pods),
              at_share(all.waits_s, 0.99), all.node_days > 0 ? all.sleeps / all.node_days : 0,
              share(all.losing, all.sleeps), share(all.bursts_awake, all.bursts), share(all.moves, all.pods),
              share(all.misplaced, all.moves));
}

}  // namespace

Result<std::string> sleep_bench(const Dataset& data, const SleepBenchOptions& options) {
  std::string text;
  for (const std::size_t nodes : options.nodes) {
    SleepEpisodeOptions drawn = options.episode;
    drawn.nodes = nodes;
    Joules joules;
    std::vector<std::vector<SleepFigures>> runs(options.rules.size());
    for (std::size_t k = 0; k < options.seeds; ++k) {
      const SleepEpisode episode = make_sleep_episode(data, drawn, options.first_seed + k);
      WATTLE_TRY(const SleepFigures always_on, run_sleep(episode, "always-on", options.depth));
      WATTLE_TRY(const SleepFigures clairvoyant, run_sleep(episode, "clairvoyant", options.depth));
      joules.always_on.push_back(always_on.energy_j);
      joules.clairvoyant.push_back(clairvoyant.energy_j);
      for (std::size_t rule = 0; rule < options.rules.size(); ++rule) {
        if (options.rules[rule] == "always-on" || options.rules[rule] == "clairvoyant") {
          runs[rule].push_back(options.rules[rule] == "always-on" ? always_on : clairvoyant);
          continue;
        }
        WATTLE_TRY(SleepFigures figures, run_sleep(episode, options.rules[rule], options.depth));
        runs[rule].push_back(std::move(figures));
      }
    }
    text += line("%zu nodes, %zu seeds from %llu, depth %s\n\n", nodes, options.seeds,
                 static_cast<unsigned long long>(options.first_seed),
                 std::string(placement::sleep::to_string(options.depth)).c_str());
    text +=
        "| rule | energy over always-on, % | over the clairvoyant, % | nodes on | pods that waited, % | p99 of their "
        "wait, s | sleeps per node "
        "and day | that lost energy, % | bursts met awake, % | moves, % of pods | misplaced, % |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (std::size_t rule = 0; rule < options.rules.size(); ++rule) {
      joules.own.clear();
      for (const SleepFigures& run : runs[rule]) joules.own.push_back(run.energy_j);
      text += row_of(options.rules[rule], joules, runs[rule]);
    }
    text += "\n";
  }
  return text + seeds_note(options.seeds, "--seeds");
}

}  // namespace wattle::sim::consolidation
