// cluster_view: what a decision may know of the cluster; controller/state and sim/world each fill it, nothing else
// differs.
// Units    in names; watts are means over the last telemetry interval
// Absent   std::optional: not told. Nothing here is hidden truth: the simulator fills it from its own noisy
//          telemetry.
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
#include "placement/power_curve.hpp"

namespace wattle::placement {

struct Resources {
  double cpu_cores = 0;
  double memory_bytes = 0;
};

// A pod as it asks for a place.
struct PodSpec {
  std::string uid;
  std::string name;  // for people; never a feature
  std::string pod_namespace;
  std::string app;  // owner and image
  std::string
      owner;  // "namespace/ReplicaSet/web-5d9", whose replicas are kept apart (placement/soft_masks); empty: no owner
  Resources request;
  bool daemonset = false;  // owned by a DaemonSet, or static
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;          // probe name; empty: "default"
  std::string node_name;               // already bound there (spec.nodeName)
  std::vector<std::string> tolerates;  // of PreferNoSchedule taints: "key=value", "key" for any value, "*" for all
  std::string prefers;  // soft preferences that only the scheduler knows, for people: "node affinity, topology spread"
  std::int64_t score_limit = 0;        // highest score that does not outvote them; 0: they do not limit the scores
  std::optional<double> demand_cores;  // predicted mean use; absent: nothing is known of pods like it
  std::optional<double> life_s;        // predicted; absent: unknown, or it stays
};

struct NodeView {
  std::string name;
  bool ready = true;
  bool asleep = false;                    // idle and powered down; only a simulator says so for now
  double wake_cost_j = 0;                 // joules to wake it
  std::optional<Duration> telemetry_age;  // absent: never heard of
  Resources allocatable;                  // zero: unknown, then no resource mask
  Resources requested;                    // by pods bound here, in-flight ones not included
  std::uint64_t pod_capacity = 110;
  std::uint64_t pods = 0;                // neither DaemonSet nor static
  std::uint64_t same_app_pods = 0;       // of the pod that is being placed
  std::uint64_t owner_pods = 0;          // of its owner, pods in flight included, without the pod itself
  std::string zone;                      // label topology.kubernetes.io/zone; empty: unknown
  std::vector<std::string> soft_taints;  // "key=value" of each PreferNoSchedule taint
  std::uint64_t in_flight = 0;           // advised, not yet seen bound
  Resources in_flight_request;
  std::uint64_t starts = 0;        // in flight, or bound within the window of the start cap
  std::uint64_t unsettled = 0;     // bound since the last telemetry interval
  double unsettled_cpu_cores = 0;  // their predicted mean use
  NodeValues values;               // last telemetry
  double throttled_cores =
      0;  // time that workloads were throttled by their own limits then, over time, summed over CPUs
  std::optional<double> power_w;
  std::map<std::string, double> latency_ms;  // probe target -> p50
  double link_bytes_per_s = 125e6;           // capacity, for percentages; these where nobody tells
  double disk_bytes_per_s = 500e6;
  PowerCurve curve;  // as fitted so far
};

struct ClusterView {
  MonoTime now{};
  std::vector<NodeView> nodes;
  std::uint64_t pending_pods = 0;  // waiting, this one not included
  // Where changes are told, so that who reads the view again need not read all of it: a node that may have changed (but for
  // its telemetry's age, same_app_pods and owner_pods) has a higher number than any had before. Empty: nobody tells.
  std::vector<std::uint64_t> edition_of;
  std::uint64_t edition = 0;
};

// The latency that counts for this pod on this node; absent: unknown.
std::optional<double> latency_for(const NodeView& node, std::string_view target);
std::optional<double> latency_for(const NodeView& node, const PodSpec& pod);

// Used share of the node's cores, 0..1; absent without telemetry.
std::optional<double> cpu_utilisation(const NodeView& node);

}  // namespace wattle::placement
