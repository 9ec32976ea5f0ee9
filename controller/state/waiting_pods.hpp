// waiting_pods: indexes pods without a node by what they wait for: a node, the start that was advised, or removal from
// memory. Pods that the API server has and that are not unschedulable form the queue, in the order in which they were
// first seen.
// Expected a pod of the API server is expected on its node until it is bound, deleted or asked for again; any other pod
//          until the time that the pod states
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
  // Call remove() before and add() after each change of a pod without a node.
  void add(const Pod& pod);
  void remove(const Pod& pod);

  // Number of pods for which no node was found: recently asked without advice, or reported as unschedulable.
  std::size_t pending() const { return pending_.size() + unschedulable_.size(); }
  bool is_pending(const Pod& pod) const;
  // Drops pods whose ask is too old from the pending ones.
  void expire_pending(MonoTime now);

  // Returns the pod whose expectation ends first, if it ends at or before `now`.
  std::optional<std::string> expected_until(MonoTime now) const { return oldest(flying_, now); }
  // Returns the pod that has been without node and expectation for longest, if it has been so since `before` or
  // earlier.
  std::optional<std::string> forgotten_since(MonoTime before) const { return oldest(unplaced_, before); }
  std::size_t unplaced() const { return unplaced_.size(); }
  std::size_t expected() const { return flying_.size(); }  // without pods of the API server
  // Returns UIDs of the queue, the first seen first; excludes pods that are expected on a node.
  std::vector<std::string> queue(std::size_t most, const std::string& but) const;

 private:
  using Since = std::set<std::pair<MonoTime, std::string>>;  // UIDs, the oldest first
  static std::optional<std::string> oldest(const Since& pods, MonoTime before);

  Since pending_;                        // recently asked, without advice
  std::set<std::string> unschedulable_;  // UIDs of pods that kube-scheduler could not place; not in pending_
  Since unplaced_;  // without node and expectation, and unknown to the API server; by time of the ask
  Since flying_;    // expected on a node, and unknown to the API server; by end of the expectation
  std::set<std::pair<std::uint64_t, std::string>> queue_;  // numbers, UIDs
};

}  // namespace wattle::controller
