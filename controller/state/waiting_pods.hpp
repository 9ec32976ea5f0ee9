// waiting_pods: pods that are on no node yet, by what they wait for: a node that somebody finds, a start that was advised, or an end of
//               being remembered. Those that an API server has and that nobody said are unschedulable are its queue, in the order in
//               which they were seen.
// Expected a pod that an API server has is expected on its node until it is bound, deleted or asked for again; any other one until a time that
//          the pod names
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"

namespace wattle::controller {

struct Pod;

class WaitingPods {
 public:
  // Around each change of a pod that is on no node: remove(), change, add().
  void add(const Pod& pod);
  void remove(const Pod& pod);

  // That nobody has found a node for: asked of late and advised nowhere, or told as unschedulable.
  std::size_t pending() const { return pending_.size() + unschedulable_.size(); }
  bool is_pending(const Pod& pod) const;
  // Who asked so long ago is not pending any more.
  void expire_pending(MonoTime now);

  // The pod that is expected until the earliest time, if that time is at or before `now`.
  std::optional<std::string> expected_until(MonoTime now) const { return oldest(flying_, now); }
  // The pod that was nowhere, and expected nowhere, for longest, if it was so at `before`.
  std::optional<std::string> forgotten_since(MonoTime before) const { return oldest(unplaced_, before); }
  std::size_t unplaced() const { return unplaced_.size(); }
  std::size_t expected() const { return flying_.size(); }  // without those that an API server has
  // UIDs of the queue, the first seen first; of those that are expected on a node none.
  std::vector<std::string> queue(std::size_t most, const std::string& but) const;

 private:
  using Since = std::set<std::pair<MonoTime, std::string>>;  // UIDs, the longest first
  static std::optional<std::string> oldest(const Since& pods, MonoTime before);

  Since pending_;                        // asked of late and were advised nowhere
  std::set<std::string> unschedulable_;  // UIDs of those whom kube-scheduler could not place; not in pending_
  Since unplaced_;  // are nowhere and expected nowhere, and no API server has them; by when they asked
  Since flying_;    // expected on a node, and no API server has them; by the end of that
  std::set<std::pair<std::uint64_t, std::string>> queue_;  // numbers, UIDs
};

}  // namespace wattle::controller
