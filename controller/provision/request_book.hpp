// request_book: computes the resources that each workload's pods need, the requests that they should have, and the
// resources that this would free.
// Source   pods as the API server describes them (owner, requests), and records of their nodes (usage, waiting,
//          throttling, memory). A workload is a namespace and an owner; a rollout belongs to the same workload. Agents
//          report pods, not containers: a suggestion is for all containers of the pod together
// Gives    a suggestion per workload (provision/requests/request_rule), updated every ten minutes; this class changes
//          no pod
// Original requests of pods that `wattle provision set` has not changed; for a workload without such pods, the stored
//          value
// Watts    the freed share of the node's idle watts: of cores or memory, whichever the pod uses more of. The saving
//          requires that emptied nodes are powered down
// Kept     written to the store at each update, and read at start. A body is a packed version, requests and rule
// Bounds   kMostWorkloads, kMostPods. A workload without pods is dropped after two weeks; if there is no room, the
//          least recently seen one is dropped. Further workloads are counted, not followed
// Units    cores, bytes, seconds of the wall clock, watts
// Errors   an invalid row is skipped and counted
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/steps.hpp"
#include "controller/store/request_table.hpp"
#include "provision/requests/request_rule.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostRequestWorkloads = 4096;
inline constexpr std::size_t kMostRequestPods = 200'000;

// Returns the workload's name as in `wattle provision`.
std::string workload_of(const kube::Pod& pod);

// Resources that suggestions would free; negative if they add.
struct Freed {
  double cpu_cores = 0, memory_bytes = 0;
  std::optional<double> power_w;  // no value if no node's size or curve is known
  void add(const Freed& other);
};

// Results of changed requests of running pods, as kubelets report them.
struct ResizeCounts {
  std::size_t set = 0;                     // pods whose requests `wattle provision set` owns
  std::array<std::size_t, 5> by_result{};  // pods by kube::PodResize, by any requester
  std::size_t of(kube::PodResize result) const { return by_result[static_cast<std::size_t>(result)]; }
  std::string message;            // reason of the last failure
  placement::Resources given_up;  // by pods whose requests were set; below 0: added
};

// Pods by the level in their annotation.
struct LevelCounts {
  std::array<std::size_t, 6> by_level{};  // pods by kube::PodProvision
  std::size_t both = 0;                   // pods of `limits` whose requests were set: their limits are not changed
  std::size_t of(kube::PodProvision level) const { return by_level[static_cast<std::size_t>(level)]; }
};

struct RequestWorkload {
  placement::RequestRule rule;
  std::string name_space, owner;
  std::string containers, qos;             // of the last described pod, as are the next two
  placement::Resources request, original;  // per pod: now, and before `wattle provision set`
  bool shrink_allowed = false;             // by all of its pods
  // Sums over all pods in the last whole minute.
  std::size_t pods = 0;
  std::size_t reporting = 0;  // pods with reported CPU usage
  placement::Resources requested, used;
  Freed freed;
  ResizeCounts resizes;
  LevelCounts levels;
  double seen_s = 0;  // when it last had pods

  // Per pod; not below the original unless that is permitted. No value if unknown so far.
  std::optional<double> suggested_cores() const;
  std::optional<double> suggested_bytes() const;
};

struct RequestTotals {
  std::size_t workloads = 0, pods = 0, suggested = 0;  // with pods; of those, suggestions that differ from the request
  placement::Resources requested, used;
  Freed freed;
  ResizeCounts resizes;  // without a message
};

// Returns `off` or `limits` if all pods have that level; the requests of such pods are not changed.
kube::PodProvision level_apart(const RequestWorkload& workload);

// Returns true if the suggestion differs from the request by more than a hundredth. False for pods whose level does not
// change requests.
bool differs(const RequestWorkload& workload);

using RequestWorkloads = std::map<std::string, RequestWorkload>;

class RequestBook {
 public:
  // `keep` receives the rows to store; if it is empty, rows are not stored.
  RequestBook(const Clock& clock, std::span<const RequestRow> found, std::function<void(std::vector<RequestRow>)> keep,
              placement::RequestOptions options = {});
  // Evaluation is off: follows no pod.
  explicit RequestBook(const Clock& clock) : clock_(clock) {}
  bool on() const { return on_; }

  // Call for each bound pod, and again when the pod changes.
  void described(const kube::Pod& pod);
  // Adds a complete interval of the node.
  void record(const Node& node);
  // Evaluates each minute once it has passed, and updates suggestions when due.
  Steps tick(const ClusterState& state);

  const std::map<std::string, RequestWorkload>& workloads() const { return workloads_; }
  // Null if no pod with this UID is followed.
  const std::string* workload_with(const std::string& uid) const;
  // Returns the UIDs of one namespace by workload.
  std::map<std::string, std::vector<std::string>> pods_of(const std::string& name_space) const;
  const RequestTotals& totals() const { return totals_; }
  std::uint64_t beyond() const { return beyond_; }          // pods not followed, because there are too many
  std::uint64_t unreadable() const { return unreadable_; }  // invalid rows of the store

 private:
  struct Watched {
    std::string workload;
    placement::Resources request;
    bool shrink_allowed = false, set = false;
    kube::PodProvision provision = kube::PodProvision::unsaid;
    kube::PodResize resize = kube::PodResize::none;
    std::string resize_message;
    double needed_core_s = 0, used_core_s = 0, seconds = 0;  // of the minute
    placement::PodMemory memory;                             // latest
    double needed_bytes = 0, memory_since_s = 0;             // highest need since then
    bool killed = false;                                     // OOM-killed since then
  };
  void restore(const RequestRow& row);
  bool make_room();
  Steps close_minute(const ClusterState& state, double now_s);
  // Removes pods that have left.
  Steps prune(const ClusterState& state);
  void begin_sums();
  void count_pod(Watched& pod, double now_s);
  void sum_up(double now_s);
  void close_pod(Watched& pod, RequestWorkload& workload, double now_s);
  Freed freed_by(const ClusterState& state, const std::string& uid, const Watched& pod,
                 const RequestWorkload& workload) const;
  double now_s() const;

  const Clock& clock_;
  bool on_ = false;
  std::function<void(std::vector<RequestRow>)> keep_;
  placement::RequestOptions options_;
  std::map<std::string, RequestWorkload> workloads_;
  std::unordered_map<std::string, Watched> pods_;
  std::optional<MonoTime> closed_;
  RequestTotals totals_;
  std::uint64_t beyond_ = 0, unreadable_ = 0;
};

}  // namespace wattle::controller
