// right_size: the steps in which one owner's requests are lowered to its pods' need, measured, and restored.
// States   watched -> lowering -> held (-> lowering: the next step) -> restoring -> waiting -> watched
// Lower    only without an obstacle, with evidence for a lower request, and after an hour in which the pods would have
//          stayed within it; towards the lasting suggestion, which covers one to two days (lasting_need), by at most
//          `step_ratio` of a request, a few pods at a time, and not in the pods' first half hour. Each step is measured
//          for `settle_s` before the next
// Restore  every lowered pod to the request that it had: if pods are throttled, wait or are killed more than before
//          (harm_watch), after which the owner is excluded for a day; if a pod does not get its request, after which it
//          is tried again after a pause that doubles; if the rule suggests more than was set, or a pod needed more
//          memory; if the owner may no longer be changed
// Laws     a request is only ever lowered or restored. step() changes nothing if it is called again with
//          the same facts and time. The caller stores the state before it acts on order_of()
// Units    cores and bytes per pod; seconds of the wall clock
// Errors   none
// Threads  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "provision/requests/harm_watch.hpp"
#include "provision/requests/owner_sizing.hpp"

namespace wattle::placement {

// Answer of the pod's kubelet.
enum class PodAnswer : std::uint8_t { none, in_progress, failing, deferred, infeasible };

struct SizedPod {
  std::string uid;
  Resources request;
  bool young = false;  // has not run for half an hour
  PodAnswer answer = PodAnswer::none;
  std::string message;  // the kubelet's
};

struct OwnerFacts {
  std::string barred;                             // why no step may begin; empty: it may
  std::string withdrawn;                          // why the original requests must be restored; empty: they need not
  std::string refused;                            // why the client that sets requests cannot set them; empty: it can
  std::optional<double> cpu_cores, memory_bytes;  // suggested by the rule, with evidence for a lower request
  Resources lasting;                              // at least the suggestion
  double needed_bytes = 0;                        // the largest memory that a pod needed in one to two days
  Resources original;                             // per pod
  bool limits_follow = false;                     // QoS class Guaranteed
  std::vector<SizedPod> pods;
  bool complete = false;  // all pods are known
  bool restored = false;  // the client that sets requests reports that no pod is left to restore
  bool turn = false;      // fewer owners than allowed are being changed
  std::size_t others_in_flight = 0, others_ordered = 0;  // pods of other owners: now, and in the last hour
  const HarmWatch* harm = nullptr;
  HarmControl control;
};

struct SizingNote {
  std::string what, why;
  bool alarm = false;
};

struct SizingStep {
  OwnerSizing state;
  std::vector<SizingNote> notes;  // for the audit
};

SizingStep step(OwnerSizing state, const OwnerFacts& facts, double now_s, const SizingOptions& options = {});

// Returns why the owner's requests may not be lowered (further); empty: they may be.
std::string waits_for(const OwnerSizing& state, const OwnerFacts& facts, double now_s,
                      const SizingOptions& options = {});

// Final request per pod for the owner; no value without evidence.
std::optional<Resources> goal_of(const OwnerSizing& state, const OwnerFacts& facts);

}  // namespace wattle::placement
