// running_pods: the running pods of a cluster, by handle: what each is expected to use, and the sums of their nodes.
// Use      the mean of prediction and observation. For an unknown application a pod's own history weighs as much as the
//          prediction after one minute; for a well-known one it takes longer
// Learning demand receives a pod's usage after one minute, then each time its observed time has doubled, up to an hour
// Leaving  a pod that is being deleted no longer counts for decisions and learning; its usage is kept separately until
//          it is gone
// Handles  callers that report on a pod often keep its handle, which avoids lookups by name
// Bounds   the caller limits the number of pods; the nodes must outlive this object
// Units    in names; seconds of the view's clock
// Errors   none: unknown pods, ended handles and readings that are not finite or negative are ignored
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/demand.hpp"
#include "placement/cluster/known_node.hpp"

namespace wattle::placement {

// Standard deviations above the mean below which nine of ten normal values are.
inline constexpr double kUpperEnd = 1.28;

// Identifies a running pod. After the pod ends, its handle refers to no pod, even if the slot is reused.
struct PodHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: no pod
};

// A pod's mean usage and the share of the time that it waited for CPU; `waited` is unset if no source reported it.
struct PodReading {
  PodHandle pod;
  double cores = 0;
  std::optional<double> waited = std::nullopt;
};

// Waiting of a pod since its previous PodWait, for learning pairs.
struct PodWait {
  KnownNode* node = nullptr;
  AppId app = 0;
  double waited = 0;  // share of `seen_s`
  double seen_s = 0;
  double cores = 0;  // latest usage
};

class RunningPods {
 public:
  // Requests of a pod: now, and at its start.
  struct Requests {
    Resources now, arrived_with;
  };

  // Returns a handle that refers to no pod if no running pod has that UID.
  PodHandle find(const std::string& uid) const;
  bool runs(PodHandle pod) const {
    return pod.slot < pods_.size() && pods_[pod.slot].generation == pod.generation && pods_[pod.slot].node != nullptr;
  }
  // Null if the handle refers to no running pod.
  const std::string* uid(PodHandle pod) const { return runs(pod) ? identities_[pod.slot].uid : nullptr; }
  std::size_t size() const { return slot_of_.size(); }
  // Returns the estimate with which the pod counts in its node's sums, with its variance multiplied by `spread`. No
  // value if the pod does not run.
  std::optional<PodEstimate> estimate(PodHandle pod, double spread) const;

  // Adds a pod that does not run yet.
  PodHandle start(const PodSpec& pod, KnownNode& node, const DemandPrediction& predicted, MonoTime now);
  // Records mean usage over the last `interval_s`. Fastest if the readings are grouped by node.
  void use(std::span<const PodReading> readings, double interval_s, DemandModel& demand);
  // Records that the pod is being deleted.
  void leave(const std::string& uid, MonoTime now, DemandModel& demand);
  // Removes the pod. No value if it does not run.
  std::optional<Requests> end(const std::string& uid, MonoTime now, DemandModel& demand);
  // Sets the new request and returns the previous ones. No value if the request is the same or the pod does not run.
  std::optional<Requests> resize(const std::string& uid, const Resources& request);
  // Returns the pods whose waiting was observed for long enough, by slot, and restarts their observation.
  std::vector<PodWait> take_waits();
  ChangedRows& changed() { return changed_; }

 private:
  // Small, because each reading touches it and there may be a hundred thousand.
  struct Running {
    KnownNode* node = nullptr;  // null: the slot is free
    std::uint32_t generation = 0;
    double seen_core_s = 0, seen_core2_s = 0, seen_s = 0, last_cores = 0;
    double reported_s = 0,
           reported_life_s = 0;  // parts of the observed time and lifetime that the demand model has received
    ExpectedUse expected;        // the part that the node's sums contain
    // observed time after which the prediction weighs as much as the observations
    double prior_s = 0;
    double waited_s = 0, waited_of_s = 0;  // since the model of pairs last learned from this pod
    DemandPrediction predicted;
    bool leaving = false;
    ExpectedUse reckon() const;
    std::optional<double> burst_cores2() const;
    void see(double cores, double interval_s);
    bool reports() const;
    void add_to(PodSums& sums) const;
    void take_from(PodSums& sums) const;
  };
  struct Identity {
    const std::string* uid = nullptr;  // into slot_of_
    AppKey app;
    AppId id = 0;
    double there_cores = 0;  // part of its demand in the node's AppsThere
    Requests request;
    MonoTime since{};
    double reported_core_s = 0;                  // with Running::reported_s
    LimitedPods::value_type* limited = nullptr;  // the entry that counts this pod; null: the pod has no soft limit
  };
  std::uint32_t free_slot();
  void report(std::uint32_t slot, DemandModel& demand);
  void finish(std::uint32_t slot, MonoTime now, DemandModel& demand);

  std::vector<Running> pods_;         // by slot
  std::vector<Identity> identities_;  // by slot
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> slot_of_;
  ChangedRows changed_;
  bool waits_reported_ = false;  // a pod reported waiting since the last take_waits()
};

}  // namespace wattle::placement
