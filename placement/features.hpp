// features: a cluster view and a pod as the network's numbers. docs/reference/features.md lists each with unit, range, source.
// Shapes   models::Observation
// Threads  pure functions
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/start_window.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/cluster_view.hpp"
#include "placement/plan_view.hpp"
#include "placement/prior.hpp"
#include "placement/soft_masks.hpp"

namespace wattle::placement {

struct FeatureSpec {
  std::string_view name;
  std::string_view unit;  // after normalisation: "ratio", "log", "flag"
  std::string_view source;
};
// In the order of the vectors.
extern const std::array<FeatureSpec, models::kNodeFeatures> kNodeFeatureSpecs;
extern const std::array<FeatureSpec, models::kPodFeatures> kPodFeatureSpecs;
extern const std::array<FeatureSpec, models::kContextFeatures> kContextFeatureSpecs;

// Changes when a feature is added, moved or given another meaning; kept in checkpoints.
std::string feature_schema_hash();

struct MaskOptions {
  double stale_after_s = 10;  // telemetry older than this masks a node
  StartCap start_cap;
  OwnerShare owner_share;  // a soft mask: mask_reason() does not judge by it
};

// Why this node cannot take this pod; empty if it can. In order: not ready, never heard of, stale, does not fit (cpu,
// memory, pods; in-flight requests count), hard latency exceeded or unknown, start cap. The text lives for ever.
std::string_view mask_reason(const NodeView& node, const PodSpec& pod, const MaskOptions& options);
// Likewise, were this what is taken of the node.
struct NodeTaken {
  Resources requested;  // pods in flight among them
  std::uint64_t pods = 0, starts = 0;
};
std::string_view mask_reason(const NodeView& node, const NodeTaken& taken, const PodSpec& pod,
                             const MaskOptions& options);

// Mean cores that the pod will use: as predicted, or of a pod of which nothing is known this share of its request.
inline constexpr double kDemandOfRequest = 0.5;
// A pod without a request counts as this many cores requested, as in the default scheduler.
inline constexpr double kRequestWhenNone = 0.1;
double demand_cores(const PodSpec& pod);

// With a plan (one entry per row) the prior's energy term is what the plan would rather not have, so that an untrained
// network decides as the planner does; without one the features of the plan are 0, and its flag says so. A plan without
// nodes tells the pod's predicted demand and life alone.
models::Observation observe(const ClusterView& view, const PodSpec& pod, std::span<const std::string_view> masked,
                            const RewardConfig& reward, const PlanView* plan = nullptr);
// The same for some of the view's nodes, in the order of `rows`; masked and predictions have one entry per row.
models::Observation observe(const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
                            std::span<const std::string_view> masked, std::span<const Prediction> predictions,
                            const RewardConfig& reward, const PlanView* plan = nullptr);

// Judges an old observation by another reward: context weights and prior are computed anew from its features.
void relabel(models::Observation& observation, const RewardConfig& reward);

}  // namespace wattle::placement
