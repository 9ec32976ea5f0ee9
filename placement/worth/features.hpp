// features: converts a cluster view and a pod to the network's inputs. features.md lists them with
// unit, range and source.
// Shapes   models::Observation
// Threads  pure functions
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "common/start_window.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/plan_view.hpp"
#include "placement/worth/prior.hpp"
#include "placement/worth/soft_masks.hpp"

namespace wattle::placement {

struct FeatureSpec {
  std::string_view name;
  std::string_view unit;  // after normalisation: "ratio", "log", "flag"
  std::string_view source;
};
// Descriptions in the order of the vectors.
extern const std::array<FeatureSpec, models::kNodeFeatures> kNodeFeatureSpecs;
extern const std::array<FeatureSpec, models::kPodFeatures> kPodFeatureSpecs;
extern const std::array<FeatureSpec, models::kContextFeatures> kContextFeatureSpecs;

// Changes when a feature is added, moved or redefined; stored in checkpoints.
std::string feature_schema_hash();

struct MaskOptions {
  double stale_after_s = 10;  // older telemetry masks a node
  StartCap start_cap;
  OwnerShare owner_share;  // a soft mask: mask_reason() ignores it
};

// Returns why this node cannot take this pod; empty if it can. Order: not ready, never reported, stale, does not fit
// (cpu, memory, pods; in-flight requests count), hard latency exceeded or unknown, start cap. The text is static.
std::string_view mask_reason(const NodeView& node, const PodSpec& pod, const MaskOptions& options);
// Returns the same with these amounts in place of the node's own.
struct NodeTaken {
  Resources requested;  // including pods in flight
  std::uint64_t pods = 0, starts = 0;
};
std::string_view mask_reason(const NodeView& node, const NodeTaken& taken, const PodSpec& pod,
                             const MaskOptions& options);

// Given a plan (one entry per row) the prior's energy term is the plan's preference, so that an untrained network
// decides like the planner. Without one the features of the plan are 0, and a flag is unset. A plan without nodes gives
// only the pod's predicted demand and life.
models::Observation observe(const ClusterView& view, const PodSpec& pod, std::span<const std::string_view> masked,
                            const RewardConfig& reward, const PlanView* plan = nullptr);
// Does the same for some of the view's nodes, in the order of `rows`; masked and predictions have one entry per row.
models::Observation observe(const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
                            std::span<const std::string_view> masked, std::span<const Prediction> predictions,
                            const RewardConfig& reward, const PlanView* plan = nullptr);
// The same from facts that were looked at for these rows.
models::Observation observe(const ClusterView& view, std::span<const std::size_t> rows, const FactsOfNodes& known,
                            const PodSpec& pod, std::span<const std::string_view> masked,
                            std::span<const Prediction> predictions, const RewardConfig& reward, const PlanView* plan);

// Relabels an old observation for another reward: recomputes context weights and prior from its features.
void relabel(models::Observation& observation, const RewardConfig& reward);

}  // namespace wattle::placement
