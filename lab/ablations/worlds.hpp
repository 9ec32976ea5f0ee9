// worlds: compares policies, and online learning, over some days in worlds where experience counts
// (sim/scenarios/experience). The last day is judged; the days before it are for learning.
// Learned  "dqn-learned" learns and serves as in mode live (lab/ablations/learned_run); the other names are those of
//          wattle-sim eval
// Figures  joules per core-second of work, and shares of pods' time that they waited or were late, by day
// Best     of the policies that do not learn online and whose pods wait within the limit (where none holds it: hardly
//          longer than those of the best of them), the one with the least energy on the judged day
// Errors   not_found: unknown worlds and policies; forwards the trainer's
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/ablations/learned_run.hpp"
#include "sim/env/statistics.hpp"

namespace wattle::sim::consolidation {

using MakeLearner = std::function<Result<std::unique_ptr<models::QTrainer>>()>;

struct WorldsOptions {
  Options episode;  // experience, crowded and lengths are set here
  std::vector<std::string> worlds, policies;
  std::uint64_t first_seed = 1;
  std::size_t seeds = 6, days = 4;
  LearnedRunOptions learned;
};

struct DayFigures {
  double energy_per_work_w = 0, waiting = 0, late = 0;
};
struct WorldRun {
  std::vector<DayFigures> days;
  RunFigures figures;
  std::optional<LearnedRun> learned;  // its figures are above
};
struct WorldRow {
  std::string policy;
  std::vector<WorldRun> runs;  // by seed
  // Energy per work of the judged day over node-order's, and over the best alternative's, minus 1. No value without it.
  std::optional<Interval> over_floor, over_best;
};
struct WorldTable {
  std::string world;
  std::string best;  // alternative; empty: none
  std::vector<WorldRow> rows;
};

Result<std::vector<WorldTable>> compare_in_worlds(const Dataset& data, const WorldsOptions& options,
                                                  const MakeLearner& make,
                                                  const std::function<void(double, const std::string&)>& progress);
std::string to_table(const std::vector<WorldTable>& tables);
std::string to_json(const std::vector<WorldTable>& tables);

}  // namespace wattle::sim::consolidation
