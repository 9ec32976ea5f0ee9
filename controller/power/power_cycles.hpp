// power_cycles: drives nodes through the state machine of placement/sleep: turns observations into events, stores each
// new record, and then carries out its action.
// Order      a record is on disk before its action. While the disk fails no node is marked, emptied or put to sleep;
//            nodes still wake and lose their marks
// One        call for a node at a time; each call has a limit, and no call blocks the loop
// Restart    records of nodes that do not run are recovered by observing the node; events wait for that
// Goodbye    the agent is asked every kAskAgain until it says goodbye. Once that is stored, a driver gets its order,
//            then the agent the grant; if the driver refuses, the agent's order is cancelled. Without a driver only the
//            grant is sent
// Again      an order that was accepted but has no effect is repeated with its number (node_now), also after a failure
// Energy     readings around each sleep and wake become the joules in the record (transition_meter)
// Errors     a call that fails is logged as sleep.call_failed with driver and fix. It is repeated, or becomes an event
// Threads    the loop's
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/power/node_now.hpp"
#include "controller/power/power_actions.hpp"
#include "controller/power/power_drain.hpp"
#include "controller/power/power_records.hpp"
#include "placement/sleep/sleep_plan.hpp"

namespace wattle::controller::power {

inline constexpr Duration kAskAgain = std::chrono::seconds(5), kObserveSoon = std::chrono::seconds(5),
                          kObserveAsleep = std::chrono::minutes(1), kCallAgain = std::chrono::seconds(10),
                          kTestSleeps = std::chrono::seconds(5);

class PowerCycles {
 public:
  struct Around {
    const Clock& clock;
    const Log& log;
    placement::sleep::SleepRules rules = {};
    placement::sleep::MoveLimits moves = {};
    placement::sleep::PowerLimits limits = {};
  };
  PowerCycles(const Around& around, std::unique_ptr<PowerStore> store, std::shared_ptr<NodePower> power,
              std::shared_ptr<NodeMarks> marks, std::size_t threads = kCallThreads);
  // Reads the store. Call once, first.
  Status load();
  void on_send(PowerActions::Send send) { actions_.on_send(std::move(send)); }

  const PowerRecords& records() const { return records_; }
  bool has_marks() const { return actions_.has_marks(); }
  // Nodes that do not take pods, from a drain on; they are looked at and planned for more often.
  bool any_sleeps() const;
  // Moves in progress, whose targets the plan counts as taken.
  std::vector<placement::sleep::Move> reserved() const { return drain_.reserved(); }

  // Call with the current node at least once a second. A managed node gets a record.
  void look(NodeNow now);
  // Records that a node that is awake still reports. Returns false if the node needs a look().
  bool reports(const std::string& node);
  // Takes results and begins what is due; call at each turn of the loop. `pods`: number in the cluster.
  void turn(std::size_t pods);
  bool busy() const { return actions_.busy() || records_.writing(); }  // a later turn takes a result
  void greeted(const std::string& node, std::string hello) { records_.greeted(node, std::move(hello)); }
  void goodbye(const std::string& node, const wire::Goodbye& message);
  void bound(const std::string& uid, const std::string& name, const std::string& owner, const std::string& node) {
    follow_clock();
    drain_.bound(uid, name, owner, node);
  }
  // Records a pod that is being deleted, as power_drain needs it.
  void leaves(const kube::Pod& pod, std::optional<bool> evicted_before) {
    follow_clock();
    drain_.leaves(pod, evicted_before);
  }
  void gone(const std::string& uid) { drain_.gone(uid); }
  const OtherEvictions& other_evictions() const { return drain_.others(); }

  // Carries out a choice of the plan. `observable`: a driver can say whether the node is on.
  void choose(const placement::sleep::SleepChoice& choice, bool observable);
  // Puts an empty node to sleep and wakes it again. `depth`: what its drivers offer, or why that is not known.
  Status test(const std::string& node, Result<Depth> depth, bool observable, const std::string& who);
  // Wakes the node or stops its sleep; returns false if it runs or has no record.
  bool wake(const std::string& node, const std::string& reason, bool planned);
  void allow(const std::string& node);
  // Moves all times with a step of the wall clock. Every call that uses them does so first.
  void follow_clock() {
    const auto step = steps_.take(around_.clock);
    if (!step) return;
    records_.move(*step);
    drain_.move(*step);
  }
  SleepTotals& totals() { return records_.change_totals(); }

 private:
  using Record = placement::sleep::NodePowerRecord;
  struct Lane {
    NodeNow now;
    NodeTimes times;
    bool looked = false, busy = false, recovering = false;
    std::string wanted;  // reason to wake the node once it is recovered
    MonoTime not_before{};
    std::optional<MonoTime> asked;
    std::uint64_t annotated = 0, granting = 0, taken = 0;  // operations; taken: the driver or the agent has the order
    MonoTime taken_at{};                                   // last time
    bool again = false;                                    // the order to wake must be repeated
    placement::sleep::TransitionMeter meter;
  };
  Lane& lane_of(const std::string& node);
  void event(const std::string& node, const placement::sleep::PowerEvent& event);
  void apply(const std::string& node, Lane& lane, placement::sleep::PowerStep step);
  void count(const Lane& lane, const Record& before, const Record& after);
  void announce(const Lane& lane, const Record& before, const Record& after);
  void pump(const std::string& node, Lane& lane);
  void sleep(const Record& record, Lane& lane);
  bool grant(const Record& record, Lane& lane);
  void start(PowerCall call, const Record& record, Lane& lane);
  void taken(std::uint64_t operation, Lane& lane, Duration observe_after);
  void take(const PowerOutcome& outcome);
  void recover(const PowerOutcome& outcome, Lane& lane);
  void failed(const PowerOutcome& outcome, bool ends);
  void observed(const PowerOutcome& outcome, Lane& lane);
  wire::SleepOrder order_of(const Record& record, const Lane& lane, bool granted) const;

  const Around around_;
  PowerRecords records_;
  PowerActions actions_;
  PowerDrain drain_;
  std::map<std::string, Lane> lanes_;
  WallSteps steps_;
  LogThrottle failures_logged_{std::chrono::minutes(1)};
};

}  // namespace wattle::controller::power
