// reward: from a raw outcome to a number, so that new weights relabel old experience. docs/reference/rewards.md has every
// formula.
// Presets  ee, lb, lc, el-rl, drs, power of the field; weighted and expression are ours
// Units    in names; rewards are dimensionless
// Threads  pure functions, values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster_view.hpp"
#include "placement/expression.hpp"

namespace wattle::placement {

enum class Preset { ee, lb, lc, el_rl, drs, power, weighted, expression };
std::string_view to_string(Preset preset);
Result<Preset> parse_preset(std::string_view text);

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
  double horizon_s = 3600;    // expected remaining life is capped here
  bool operator==(const RewardConfig&) const = default;
};

// One worker node just before the placement.
struct WorkerBefore {
  std::uint64_t pods = 0;  // neither DaemonSet nor static
  double cpu_ratio = 0, memory_ratio = 0, disk_ratio = 0;
  std::uint64_t tcp_established = 0;
};

// The six DRS metrics of one worker after the settle window, in percent of its own capacity.
struct WorkerAfter {
  double cpu_pct = 0, memory_pct = 0, net_rx_pct = 0, net_tx_pct = 0, disk_read_pct = 0, disk_write_pct = 0;
};

// One load of the workers: the chosen one's, and the least and most of all.
struct LoadRange {
  double chosen = 0, least = 0, most = 0;
  bool operator==(const LoadRange&) const = default;
};

// The workers just before the placement, as far as any reward asks: of thousands it is as short as of three. Without workers nothing
// that counts them is rewarded.
struct ClusterBefore {
  std::uint64_t workers = 0, on = 0, pods = 0;  // on: workers with a pod
  LoadRange by_pods, by_cpu, by_memory, by_disk, by_tcp;

  // Workers in any order, the chosen one, where the pod really is, among them.
  void add(const WorkerBefore& worker, bool chosen);
  bool operator==(const ClusterBefore&) const = default;
};
ClusterBefore summed(std::span<const WorkerBefore> workers, std::size_t chosen);

// Sum of the population standard deviations of the six metrics; 0 of none.
double deviations_pct(std::span<const WorkerAfter> workers);

// Everything a reward may be computed from. Stored with the decision.
struct RawOutcome {
  ClusterBefore before;
  double deviations_pct = 0;         // of all workers after the settle window
  std::optional<double> latency_ms;  // of the chosen node to the pod's target
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::optional<double> marginal_w;    // measured minus predicted-without-this-pod, wake idle watts included
  double expected_marginal_w = 0;      // what an average node would have added: the b(pod) of docs/reference/rewards.md
  double expected_life_s = 3600;       // remaining, predicted
  std::optional<double> mean_power_w;  // of the chosen node over the window
  std::optional<double> cpu_some_ratio;  // PSI of the chosen node after the window
  bool failed = false;                   // the pod could not run there
  bool was_infeasible = false;           // the choice did not fit
  bool all_full = false;                 // every node is full after it
};

struct Reward {
  double value = 0;
  bool end_of_episode = false;          // no bootstrap
  std::map<std::string, double> terms;  // what it was made of
};

Reward evaluate(const RewardConfig& config, const RawOutcome& outcome);

// Idle watts of a pod's share of the node and the watts that its demand adds: what it costs there in the long run.
double amortised_w(const NodeView& node, const PodSpec& pod, double demand_cores);

// What `evaluate` will say of a placement on a node, as far as models predict it (energy; latency when it is known): the prior of Q.
// Zero for presets that no model predicts; an expression is evaluated with the other terms 0.
struct Prediction {
  double marginal_w = 0;            // watts that the pod adds, wake not included
  double marginal_with_wake_w = 0;  // idle watts and wake energy of a sleeping node included
  double amortised_w =
      0;              // idle watts / pods of this size that fit an empty node + marginal watts + waiting at its price
  double energy = 0;  // terms, weights included; of an expression what the term adds to it
  double latency = 0;
  double slots = 1;                  // pods of this request that the empty node takes
  std::optional<double> latency_ms;  // to the pod's target
  double value() const { return energy + latency; }
};
std::vector<Prediction> predict(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows,
                                const PodSpec& pod, double demand_cores);
// Energy and latency of them, by their watts against each other.
void judge(const RewardConfig& config, const PodSpec& pod, std::span<Prediction> predictions);

// 1 up to the soft limit, falling to 0 at the hard one, -1 beyond; docs/reference/rewards.md says what a missing one means.
double latency_term(std::optional<double> latency_ms, std::optional<double> soft_ms, std::optional<double> hard_ms);

// The terms of the prior, weights included.
struct PredictedTerms {
  double energy = 0, latency = 0;
};
struct Foreseen {
  double saved_w = 0;            // the compared nodes' mean amortised watts minus this node's
  std::optional<double> life_s;  // of the pod; absent: it outlasts the horizon
  std::optional<double> latency_ms, latency_soft_ms, latency_hard_ms;
};
PredictedTerms predicted_terms(const RewardConfig& config, const Foreseen& foreseen);

// Pods of this request that an empty node takes, at least 1.
double slots_for(const NodeView& node, const PodSpec& pod);
// Cores that are used, or will be once unsettled and in-flight pods run.
double expected_cpu_cores(const NodeView& node);

}  // namespace wattle::placement
