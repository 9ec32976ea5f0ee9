// drain: one transaction that empties a node: each pod with the node that is reserved for it. The caller evicts the
// pods that next() returns, reports where their replacements land, and stops the drain when stopped() has a reason.
// Reserved the targets of pods that have not landed, so that the caller counts them on its view as pods in flight
// Stops    after too many pods that did not land on their target, when a move takes too long, or when another pod is
//          bound to the node. Pods that moved stay where they are
// Units    wall time
// Errors   none: reports about other pods are ignored
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "placement/sleep/sleep_ledger.hpp"

namespace wattle::placement::sleep {

struct Move {
  std::string pod;    // uid
  std::string name;   // "namespace/name", for people
  std::string owner;  // PodSpec::owner
  std::string target;
  Resources request;
};

class Drain {
 public:
  Drain(std::string node, std::vector<Move> moves) : node_(std::move(node)) {
    for (Move& move : moves) pods_.push_back({std::move(move)});
  }

  // Returns the pods to evict now within the limits, and counts them in the ledger. `pods`: number in the cluster.
  std::vector<Move> next(std::size_t pods, WallTime now, const MoveLimits& limits, SleepLedger& ledger);
  // The Eviction API refused (a budget allows none now): the pod is tried again after its owner's rest.
  void refused(std::string_view pod, SleepLedger& ledger);
  // Records that a pod of that owner started on `node` after an eviction.
  void landed(std::string_view owner, std::string_view node);
  // Records that the pod ended by itself.
  void ended(std::string_view pod);
  // Records that a pod that is not among the moves was bound to the node.
  void arrived(std::string_view name);

  void move(const WallStep& step) {
    for (Pod& each : pods_) each.evicted = step.moved(each.evicted);
  }

  const std::string& node() const { return node_; }
  bool done() const;  // all pods have left the node and landed, or ended
  std::vector<Move> reserved() const;
  std::size_t misplaced() const { return misplaced_; }
  // Reason to stop; no value while the drain may go on.
  std::optional<std::string> stopped(WallTime now, const MoveLimits& limits) const;

 private:
  enum class State : std::uint8_t { waits, evicted, landed, ended };
  struct Pod {
    Move move;
    State state = State::waits;
    WallTime evicted{};
  };
  Pod* find(std::string_view pod);

  std::string node_;
  std::vector<Pod> pods_;
  std::size_t misplaced_ = 0;
  std::string arrived_;
};

}  // namespace wattle::placement::sleep
