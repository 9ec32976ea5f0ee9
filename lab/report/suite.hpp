// suite: runs the whole evaluation page: every scenario with every contestant, on the same seeds.
// Pairing  all contestants of a trial get the same clusters, pods and troubles; ties follow the seed
// Figures  inter-quartile means over seeds with 95 % bootstrap intervals; energy against kube-scheduler's default
//          paired by seed, sign permutation with Holm's correction over the contestants of a trial
// Units    in names
// Errors   unknown scenarios, policies and baselines; those of consolidation
// Threads  single owner; the same options give the same bytes
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "lab/bench/bench.hpp"
#include "sim/env/evaluate.hpp"
#include "sim/env/statistics.hpp"

namespace wattle::sim {

inline constexpr std::string_view kConsolidation = "consolidation";  // a name among the scenarios of `bench`

}  // namespace wattle::sim

namespace wattle::sim::suite {

struct Column {
  std::string_view name;  // in the JSON; with its unit
  std::string_view title;
  double EpisodeFigures::*what;
  double scale;
  bool lower_is_better;
};
std::span<const Column> columns();

// A row of the evaluation page.
struct Trial {
  std::string_view scenario;
  std::string_view control;                // scenario of the same pods without the trouble, if there is one
  std::array<std::string_view, 3> merits;  // most important columns of this trial
  bool quick;                              // part of the short run
};
inline constexpr std::array<Trial, 13> kTrials{{
    {"thesis_test1", "", {"late_pct", "energy_kj", "latency_p95_ms"}, true},
    {"thesis_test2", "", {"late_pct", "energy_kj", "latency_p95_ms"}, false},
    {"latency_shift", "", {"recover_decisions", "late_pct", "energy_kj"}, true},
    {"drs", "", {"imbalance_pct", "utilisation_pct", "waiting_pct"}, true},
    {"closed_loop", "", {"energy_per_request_j", "response_ms", "response_p95_ms"}, true},
    {"memory_only", "", {"pending_s", "energy_kj", "imbalance_pct"}, true},
    {"provisioning", "", {"response_ms", "failed_pct", "response_p95_ms"}, true},
    {"machines_fail", "", {"stranded_pct", "energy_kj", "waiting_pct"}, false},
    {"curve_change", "", {"energy_kj", "waiting_pct", "late_pct"}, false},
    {"liars", "", {"energy_kj", "waiting_pct", "crowded_pct"}, false},
    {"burst", "burst_spread", {"aftermath_w", "crowded_pct", "waiting_pct"}, false},
    {"churn", "", {"energy_kj", "late_pct", "waiting_pct"}, false},
    {"churn_sleep", "", {"energy_kj", "late_pct", "waiting_pct"}, true},
}};

struct Options {
  std::size_t seeds = 20;
  std::uint64_t first_seed = kFirstHeldOutSeed;
  std::vector<std::string> trials;  // scenarios, and consolidation; empty: all
  bool warm = false;                // the controller has watched each cluster in shadow mode before (learned_in_shadow)
  bool quick = false;               // few seeds, short episodes, some of the trials
  std::vector<Contestant> contestants;
  std::vector<ServerModel> measured;
  placement::RewardConfig reward;
  std::optional<consolidation::Dataset> consolidation;            // runs consolidation on these servers and days
  std::shared_ptr<const models::QNetwork> consolidation_network;  // its policy dqn; null: not a contestant
};

// The evaluation page's contestants, from random to truth, followed by `learned`: the policies of networks.
std::vector<Contestant> standard_contestants(std::vector<Contestant> learned);

struct Against {
  Interval ratio;  // of the paired ratios minus 1
  double p = 1, holm_p = 1;
};
// A column against another contestant's on the same seeds: the ratio of the inter-quartile means minus 1.
struct Comparison {
  std::string column, base;
  Against against;
};
struct Entry {
  std::string name;
  std::vector<EpisodeFigures> episodes;
  EpisodeTrace trace;             // of the first seed
  std::optional<Against> energy;  // against kube-default
  std::vector<Comparison>
      comparisons;  // the trial's merits against kube-default, and energy against round-robin and node-order
  std::optional<Interval> lost_to_burst;    // watts afterwards against the control's
  std::optional<Interval> recovered_after;  // for changing curves: decisions until within 2 % of the truth's energy
  std::optional<double> worst_window;  // highest over windows of 200 decisions: upper bound of energy against default
  Interval of(const Column& column) const;
};
struct TrialResult {
  Trial trial;
  Scenario scenario;
  std::vector<std::uint64_t> seeds;
  std::vector<Entry> entries;
};
struct ConsolidationResult {
  std::string name;
  consolidation::BenchResult bench;
};
struct SuiteResult {
  bool quick = false, warm = false;
  std::string data;  // origin of servers and demand
  std::vector<TrialResult> trials;
  std::vector<ConsolidationResult> consolidation;
};

// Called with the finished share and the next step.
using Progress = std::function<void(double done, const std::string& next)>;
Result<SuiteResult> run(const Options& options, const Progress& progress = {});

// A learning curve for the report: mean reward of episodes over decisions.
struct Curve {
  std::string name;
  std::vector<double> decisions, reward;
};

std::string to_json(const SuiteResult& result, const std::vector<Curve>& curves = {});
// Returns a self-contained page that draws the JSON.
std::string to_html(const std::string& json);
std::string_view report_page();  // report.html, embedded by the build

}  // namespace wattle::sim::suite
