// power_drain: runs the drain of a node. Evicts its pods as placement/sleep/drain allows, and follows where their
// replacements start.
// Others   evictions by other programs count as moves: in the ledger, and in those at once (other_evictions.hpp). A pod
//          that leaves without Wattle is not evicted again. A first look at a pod that is evicted already, after a
//          restart, counts as Wattle's own if the ledger knows the pod
// Order    a move is in the stored ledger before its pod is evicted, so that a restart does not move a pod twice
// Errors   an eviction that fails is logged as sleep.eviction_failed and tried again after its owner's rest
// Threads  the loop's
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/power/other_evictions.hpp"
#include "controller/power/power_actions.hpp"
#include "controller/power/power_records.hpp"
#include "placement/sleep/drain.hpp"

namespace wattle::controller::power {

class PowerDrain {
 public:
  PowerDrain(PowerRecords& records, PowerActions& actions, placement::sleep::MoveLimits limits, const Clock& clock,
             const Log& log)
      : records_(records), actions_(actions), limits_(limits), clock_(clock), log_(log) {}
  void begin(std::string node, std::vector<placement::sleep::Move> moves);
  void end() {
    drain_.reset();
    chosen_.clear();
  }
  void move(const WallStep& step) {
    if (drain_) drain_->move(step);
  }
  // Returns the node that is being drained; empty: none.
  std::string node() const { return drain_ ? drain_->node() : std::string(); }
  bool done() const { return drain_ && drain_->done(); }
  // Moves whose pods have not landed.
  std::vector<placement::sleep::Move> reserved() const;
  // Evicts what is due. `pods`: number in the cluster. `held`: another program empties the node, so no pod is evicted.
  // Returns why the drain must stop, if it must.
  std::optional<std::string> turn(std::size_t pods, bool held = false);
  // Records that a pod was bound that was not bound before.
  void bound(const std::string& uid, const std::string& name, const std::string& owner, const std::string& node);
  // Records a pod that is being deleted. `evicted_before`: whether it was evicted at the look before; no value: first.
  void leaves(const kube::Pod& pod, std::optional<bool> evicted_before);
  void gone(const std::string& uid);
  const OtherEvictions& others() const { return others_; }
  void take(const EvictOutcome& outcome);

 private:
  PowerRecords& records_;
  PowerActions& actions_;
  const placement::sleep::MoveLimits limits_;
  const Clock& clock_;
  const Log& log_;
  std::optional<placement::sleep::Drain> drain_;
  std::vector<placement::sleep::Move> chosen_;  // in the ledger, not yet evicted
  std::set<std::string> evicted_;               // uids of pods that are still there
  OtherEvictions others_;
  LogThrottle failures_logged_{std::chrono::minutes(1)};
};

}  // namespace wattle::controller::power
