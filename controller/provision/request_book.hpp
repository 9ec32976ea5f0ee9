// request_book: what each workload's pods need, what they should request, and what that would free.
// Source   pods as the API server describes them (whose they are, what they request), and records of their nodes (usage, waiting,
//          throttling, memory). A workload is namespace and owner; a rollout is the same one. Agents tell of pods, not of their
//          containers: what is suggested is for the pod's containers together
// Gives    a suggestion per workload (placement/request_rule), looked at each ten minutes; nothing is written to any pod from here
// Original what pods request that `wattle provision set` did not change; of a workload with none, what was kept of it
// Watts    of a node's idle watts the share of the node that is freed: of cores or memory, whichever a pod takes more of. They are saved
//          where nodes that become empty are powered down
// Kept     in the store at each look, and read back at the start: a body is a version, what the pods request and the rule, packed
// Bounds   kMostWorkloads, kMostPods; a workload without pods goes when there is no room, the one not heard for longest first, or after
//          two weeks. Others are not followed, and counted
// Units    cores, bytes, seconds of the wall clock, watts
// Errors   a row that is not ours is left out and counted
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/store/request_table.hpp"
#include "placement/request_rule.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostRequestWorkloads = 4096;
inline constexpr std::size_t kMostRequestPods = 200'000;

// As `wattle provision` names it.
std::string workload_of(const kube::Pod& pod);

// What suggestions would free, or take where it is negative.
struct Freed {
  double cpu_cores = 0, memory_bytes = 0;
  std::optional<double> power_w;  // absent: no node's size or curve is known
  void add(const Freed& other);
};

// What became of requests that were changed while pods ran, as kubelets tell it.
struct ResizeCounts {
  std::size_t set = 0;  // pods whose requests `wattle provision set` owns
  std::size_t in_progress = 0, failing = 0, deferred = 0, infeasible = 0;  // whoever asked
  std::string message;                                                     // of one of the last three
  placement::Resources given_up;                                           // by those that were set; below 0: taken
};

// Pods by what their annotation says.
struct LevelCounts {
  std::size_t off = 0, suggest = 0, limits = 0, requests = 0;
  std::size_t both = 0;  // of `limits` those whose requests were set: their limits are left alone
};

struct RequestWorkload {
  placement::RequestRule rule;
  std::string name_space, owner;
  std::string containers, qos;             // of the pod that was described last, as is the next
  placement::Resources request, original;  // per pod: now, and before it was set
  bool shrink_allowed = false;             // by all of its pods
  // Of the last whole minute, all pods together.
  std::size_t pods = 0;
  std::size_t heard = 0;  // of whose CPU use something was told
  placement::Resources requested, used;
  Freed freed;
  ResizeCounts resizes;
  LevelCounts levels;
  double seen_s = 0;  // when it had pods last

  // Per pod; never below the original unless that is allowed. Absent: not known yet.
  std::optional<double> suggested_cores() const;
  std::optional<double> suggested_bytes() const;
};

struct RequestTotals {
  std::size_t workloads = 0, pods = 0, suggested = 0;  // with pods; of those, with another request than they have
  placement::Resources requested, used;
  Freed freed;
  ResizeCounts resizes;  // without a message
};

// The level that all of its pods say, where that leaves requests alone: `off` or `limits`.
kube::PodProvision level_apart(const RequestWorkload& workload);

// Whether another request is suggested than the pods have: beyond a hundredth of it. Not of pods whose level leaves requests alone.
bool differs(const RequestWorkload& workload);

class RequestBook {
 public:
  // `keep` hears of rows to keep; empty: nothing is kept.
  RequestBook(const Clock& clock, std::span<const RequestRow> found, std::function<void(std::vector<RequestRow>)> keep,
              placement::RequestOptions options = {});

  // The API server has the pod, bound; again when it changes.
  void described(const kube::Pod& pod);
  // A whole interval of the node.
  void record(const Node& node);
  // Each minute it closes one, and looks where it is time to.
  // `breathe` is called now and then meanwhile: asks are answered.
  void tick(const ClusterState& state, const std::function<void()>& breathe);

  const std::map<std::string, RequestWorkload>& workloads() const { return workloads_; }
  // UIDs by workload, of one namespace.
  std::map<std::string, std::vector<std::string>> pods_of(const std::string& name_space) const;
  const RequestTotals& totals() const { return totals_; }
  std::uint64_t beyond() const { return beyond_; }          // pods not followed, for there were too many
  std::uint64_t unreadable() const { return unreadable_; }  // rows of the store

 private:
  struct Watched {
    std::string workload;
    placement::Resources request;
    bool shrink_allowed = false, set = false;
    kube::PodProvision provision = kube::PodProvision::unsaid;
    kube::PodResize resize = kube::PodResize::none;
    std::string resize_message;
    double needed_core_s = 0, used_core_s = 0, seconds = 0;  // of the minute
    placement::PodMemory memory;                             // last
    double needed_bytes = 0, memory_since_s = 0;             // the most since then
    bool killed = false;                                     // since then, for want of memory
  };
  void restore(const RequestRow& row);
  bool make_room();
  void close_minute(const ClusterState& state, double now_s, const std::function<void()>& breathe);
  void close_pod(Watched& pod, RequestWorkload& workload, double now_s);
  Freed freed_by(const ClusterState& state, const std::string& uid, const Watched& pod,
                 const RequestWorkload& workload) const;
  double now_s() const;

  const Clock& clock_;
  std::function<void(std::vector<RequestRow>)> keep_;
  placement::RequestOptions options_;
  std::map<std::string, RequestWorkload> workloads_;
  std::unordered_map<std::string, Watched> pods_;
  std::optional<MonoTime> closed_;
  RequestTotals totals_;
  std::uint64_t beyond_ = 0, unreadable_ = 0;
};

}  // namespace wattle::controller
