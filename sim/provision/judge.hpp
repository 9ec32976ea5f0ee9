// judge: contestants on rate traces, each by the setting that grants least of those that keep within the minutes allowed.
// Gives    mean granted cores per trace and setting, seed by seed; wattle's against each other's, paired by seed
// Units    cores; shares of minutes
// Errors   not_found for a contestant that does not exist; out_of_range for a trace that ends before the overload does; what a
//          world's write refuses
// Threads  pure but for `progress`, which is called from here
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "sim/provision/contestants.hpp"
#include "sim/provision/overload.hpp"

namespace wattle::sim::provision {

struct JudgeOptions {
  std::vector<RateTrace> traces;
  std::vector<std::string> contestants;  // names; empty: all
  WorldOptions world;                    // trace, seed and clairvoyant are set here
  std::size_t seeds = stats::kLeastSeeds;
  std::uint64_t first_seed = 2'000'000;
  double minutes_over_ratio = 0.05;
  // Each seed is played once more with either kind. No setting is chosen by that. Nobody has learned on more than a node can
  // serve; who learns has learned below a limit that is too low.
  std::optional<Overload> overload;
};

struct SettingResult {
  double setting = 0;
  std::vector<double> granted_cores;  // per seed; fewer where it was over too often before the last one
  double used_cores = 0, minutes_over_ratio = 0, worst_seed_ratio = 0, requests_over_ratio = 0, writes_per_minute = 0;
};

struct Entry {
  std::string trace, contestant;
  std::vector<SettingResult> settings;
  std::optional<std::size_t> best;  // of settings; absent: none keeps within the minutes allowed
  // Per seed, of the best setting: minutes until the target is kept; absent: not within the trace.
  std::vector<std::optional<std::uint64_t>> after_overload, from_starved;
  std::optional<stats::Interval> of_wattle;  // wattle's granted cores over this one's, less 1
};

struct Judgement {
  std::vector<Entry> entries;  // trace by trace, contestants in their order
};

struct Mean {
  std::string contestant;
  std::optional<double> granted_cores, of_wattle;  // absent where a trace has no setting
};

Result<Judgement> judge(const JudgeOptions& options, const std::function<void(double, const std::string&)>& progress);

// Geometric means over traces; of_wattle as the ratio less 1.
std::vector<Mean> means_over_traces(const Judgement& judgement);

std::string judgement_text(const JudgeOptions& options, const Judgement& judgement);
std::string judgement_json(const JudgeOptions& options, const Judgement& judgement);

}  // namespace wattle::sim::provision
