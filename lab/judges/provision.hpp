// judge: evaluates contestants on rate traces. Each uses the setting that grants the least among those within the
// allowed minutes.
// Gives    mean granted cores per trace and setting, seed by seed; wattle's relative to each other's, paired by seed
// Units    cores; shares of minutes
// Errors   not_found for an unknown contestant; errors of a world's write
// Threads  pure except for `progress`, which is called from here
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "lab/contestants/contestants.hpp"

namespace wattle::sim::provision {

struct JudgeOptions {
  std::vector<RateTrace> traces;
  std::vector<std::string> contestants;  // names; empty: all
  WorldOptions world;                    // trace, seed and clairvoyant are set here
  std::size_t seeds = stats::kLeastSeeds;
  std::uint64_t first_seed = 2'000'000;
  double minutes_over_ratio = 0.05;
};

struct SettingResult {
  double setting = 0;
  std::vector<double> granted_cores;  // per seed; fewer if it exceeded the allowed minutes before the last one
  double used_cores = 0, minutes_over_ratio = 0, worst_seed_ratio = 0, requests_over_ratio = 0, writes_per_minute = 0;
};

struct Entry {
  std::string trace, contestant;
  std::vector<SettingResult> settings;
  std::optional<std::size_t> best;           // index into settings; unset if none keeps within the allowed minutes
  std::optional<stats::Interval> of_wattle;  // wattle's granted cores over this one's, minus 1
};

struct Judgement {
  std::vector<Entry> entries;  // trace by trace, contestants in their order
};

struct Mean {
  std::string contestant;
  std::optional<double> granted_cores, of_wattle;  // unset if a trace has no setting
};

Result<Judgement> judge(const JudgeOptions& options, const std::function<void(double, const std::string&)>& progress);

// Geometric means over traces; of_wattle as the ratio minus 1.
std::vector<Mean> means_over_traces(const Judgement& judgement);

std::string judgement_text(const JudgeOptions& options, const Judgement& judgement);
std::string judgement_json(const JudgeOptions& options, const Judgement& judgement);

}  // namespace wattle::sim::provision
