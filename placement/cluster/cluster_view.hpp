// cluster_view: the known state of the cluster, which is the input of every decision. controller/state and sim/world
// fill it; all code that reads it is the same for both.
// Units    in names; watts are means over the last telemetry interval
// Absent   std::optional: not reported. A view never contains hidden truth: the simulator fills it from its own noisy
//          telemetry
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/sample.hpp"
#include "placement/cluster/power_curve.hpp"

namespace wattle::placement {

struct Resources {
  double cpu_cores = 0;
  double memory_bytes = 0;
};

// A pod to be placed.
struct PodSpec {
  std::string uid;
  std::string name;  // for people; never a feature
  std::string pod_namespace;
  std::string app;  // owner and image
  std::string
      owner;  // "namespace/ReplicaSet/web-5d9"; its replicas are spread (placement/worth/soft_masks); empty: no owner
  Resources request;
  bool daemonset = false;  // owned by a DaemonSet, or static
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;  // probe name; empty: "default"
  std::string node_name;       // set if already bound (spec.nodeName)
  // Tolerated PreferNoSchedule taints: "key=value", "key" for any value, "*" for all
  std::vector<std::string> tolerates;
  std::string prefers;  // soft preferences known to the scheduler only, for people: "node affinity, topology spread"
  std::int64_t score_limit = 0;        // highest score that does not outvote them; 0: no limit
  std::optional<double> demand_cores;  // predicted mean use; unset if no similar pod is known
  std::optional<double> life_s;        // predicted; unset if unknown or if the pod stays
};

// Mean cores that a pod uses: the prediction, or this share of its request if there is none.
inline constexpr double kDemandOfRequest = 0.5;
// A pod without a request counts as this many requested cores, as in the default scheduler.
inline constexpr double kRequestWhenNone = 0.1;
double demand_cores(const PodSpec& pod);

struct NodeView {
  std::string name;
  bool ready = true;
  bool asleep = false;                    // powered down, going to sleep or waking
  double wake_cost_j = 0;                 // energy to wake it; 0: it may not sleep
  std::optional<Duration> telemetry_age;  // unset if it never reported
  Resources allocatable;                  // zero: unknown, so there is no resource mask
  Resources requested;                    // by pods bound here, without in-flight pods
  std::uint64_t pod_capacity = 110;
  std::uint64_t pods = 0;                // without DaemonSet and static pods
  std::uint64_t same_app_pods = 0;       // pods of the placed pod's application, without those being deleted
  std::uint64_t owner_pods = 0;          // pods of its owner, including pods in flight, without the pod itself
  std::string zone;                      // label topology.kubernetes.io/zone; empty: unknown
  std::vector<std::string> soft_taints;  // "key=value" of each PreferNoSchedule taint
  std::uint64_t in_flight = 0;           // advised, but not yet reported as bound
  Resources in_flight_request;
  std::uint64_t starts = 0;        // in flight, or bound within the window of the start cap
  std::uint64_t unsettled = 0;     // bound since the last telemetry interval
  double unsettled_cpu_cores = 0;  // predicted mean use of the unsettled pods
  double leaving_cpu_cores = 0;    // predicted mean use of pods being deleted; part of the telemetry, ends soon
  NodeValues values;               // last telemetry
  // Time in which workloads were throttled by their own limits, per time of the last interval, summed over CPUs.
  double throttled_cores = 0;
  std::optional<double> power_w;
  std::map<std::string, double> latency_ms;  // probe target -> p50
  double link_bytes_per_s = 125e6;           // capacities, for percentages; these defaults apply if not reported
  double disk_bytes_per_s = 500e6;
  PowerCurve curve;  // current fit
};

struct ClusterView {
  MonoTime now{};
  std::vector<NodeView> nodes;
  std::uint64_t pending_pods = 0;  // waiting pods without this one
  // Reported changes, so that a reader can skip unchanged nodes. A node that may have changed (other than in its
  // telemetry's age, same_app_pods and owner_pods) has a higher edition than any node had before. Empty if the source
  // reports no changes.
  std::vector<std::uint64_t> edition_of;
  std::uint64_t edition = 0;
};

// Returns the node's latency to the pod's target. No value if unknown.
std::optional<double> latency_for(const NodeView& node, std::string_view target);
std::optional<double> latency_for(const NodeView& node, const PodSpec& pod);

// Returns the used share of the node's cores, 0..1. No value without telemetry.
std::optional<double> cpu_utilisation(const NodeView& node);

// Cores in use plus those of unsettled and in-flight pods, minus those of pods that are being deleted.
double expected_cpu_cores(const NodeView& node);

}  // namespace wattle::placement
