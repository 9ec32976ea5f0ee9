// reward: converts a raw outcome to a number, so that new weights can relabel old experience. docs/reference/rewards.md
// has every formula.
// Presets  ee, lb, lc, el-rl, drs, power from the literature; weighted and expression are Wattle's own
// Units    in names; rewards are dimensionless
// Threads  pure functions, values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/expression.hpp"

namespace wattle::placement {

enum class Preset { ee, lb, lc, el_rl, drs, power, weighted, expression };
std::string_view to_string(Preset preset);
Result<Preset> parse_preset(std::string_view text);

// Timing that a preset from the literature requires in addition to its formula.
struct PresetTimes {
  std::optional<double> settle_s;  // from a placement to its outcome; unset: the observer of outcomes decides
  std::uint64_t episode = 0;       // placements per episode; 0: unlimited
};
PresetTimes times_of(Preset preset);

inline constexpr double kPodsPerNode = 50;  // a full node, as in the thesis

enum class LoadKind { pods, cpu, memory, disk };
std::string_view to_string(LoadKind kind);
Result<LoadKind> parse_load_kind(std::string_view text);

// Weights of `weighted`, 0..100 each. Names as in configuration and docs/reference/rewards.md.
struct RewardWeights {
  double energy = 1.0;
  double latency = 1.0;
  double balance = 0.0;
  double active_nodes = 0.0;
  double packing = 0.0;
  double contention = 0.25;
  double failure = 1.0;
  bool operator==(const RewardWeights&) const = default;
};

struct RewardConfig {
  Preset preset = Preset::weighted;
  LoadKind load = LoadKind::pods;  // for ee and lb
  RewardWeights weights;
  Formula formula;            // of expression
  double reference_w = 20.0;  // marginal watts that cost one unit of energy reward
  double horizon_s = 3600;    // cap of the expected remaining life
  bool with_prior = true;     // false: Q is the network's output alone, as it was trained (placement/worth/prior)
  bool operator==(const RewardConfig&) const = default;
};

// A worker node just before the placement.
struct WorkerBefore {
  std::uint64_t pods = 0;  // without DaemonSet and static pods
  double cpu_ratio = 0, memory_ratio = 0, disk_ratio = 0;
  std::uint64_t tcp_established = 0;
};

// The six DRS metrics of one worker after the settle window, in percent of its own capacity.
struct WorkerAfter {
  double cpu_pct = 0, memory_pct = 0, net_rx_pct = 0, net_tx_pct = 0, disk_read_pct = 0, disk_write_pct = 0;
};

// A load of the workers: the chosen one's, and the minimum and maximum of all.
struct LoadRange {
  double chosen = 0, least = 0, most = 0;
  bool operator==(const LoadRange&) const = default;
};

// Summary of the workers just before the placement, as far as any reward needs it. Its size does not depend on the
// number of workers. Without workers the rewards that count them are 0.
struct ClusterBefore {
  std::uint64_t workers = 0, on = 0, pods = 0;  // on: workers with a pod
  LoadRange by_pods, by_cpu, by_memory, by_disk, by_tcp;

  // Adds a worker, in any order. `chosen`: the node where the pod really is.
  void add(const WorkerBefore& worker, bool chosen);
  bool operator==(const ClusterBefore&) const = default;
};
ClusterBefore summed(std::span<const WorkerBefore> workers, std::size_t chosen);

// Sum of the population standard deviations of the six metrics; 0 without workers.
double deviations_pct(std::span<const WorkerAfter> workers);

// All inputs of rewards. Stored with the decision.
struct RawOutcome {
  std::uint64_t placement = 0;  // number of placements observed before this one
  ClusterBefore before;
  double deviations_pct = 0;         // of all workers after the settle window
  std::optional<double> latency_ms;  // of the chosen node to the pod's target
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::optional<double> marginal_w;  // measured minus predicted-without-this-pod, wake idle watts included
  // Watts that an average node would have added: the b(pod) of docs/reference/rewards.md.
  double expected_marginal_w = 0;
  double expected_life_s = 3600;         // remaining, predicted
  std::optional<double> mean_power_w;    // of the chosen node over the window
  std::optional<double> cpu_some_ratio;  // PSI of the chosen node after the window
  bool failed = false;                   // the pod could not run there
  bool was_infeasible = false;           // the choice did not fit
  bool all_full = false;                 // every node is full after it
};

struct Reward {
  double value = 0;
  bool end_of_episode = false;          // no bootstrap
  std::map<std::string, double> terms;  // the parts of the value
};

Reward evaluate(const RewardConfig& config, const RawOutcome& outcome);
// The energy term: above 0, fewer watts than an average node.
double energy_term(const RewardConfig& config, double saved_w, double life_s);
// The load that the presets ee and lb (configurable) and lc use.
const LoadRange& load_of(const RewardConfig& config, const ClusterBefore& before);

// 1 up to the soft limit, falling to 0 at the hard one, -1 beyond. docs/reference/rewards.md defines a missing limit.
double latency_term(std::optional<double> latency_ms, std::optional<double> soft_ms, std::optional<double> hard_ms);

}  // namespace wattle::placement
