// outcomes: joins placements to their outcomes: records of a pod's node fill a window (settle) until it is an outcome.
// Rules    outcomes come from telemetry after the settle window. They become rewards, news for the trainer and entries
//          of the log. A window without telemetry is lost
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decisions/decision_core.hpp"
#include "controller/decisions/outcome_windows.hpp"

namespace wattle::controller {

// The reward of an outcome, in the arm of its decision.
struct Judged {
  ArmNow arm;
  double reward = 0;
};

class Outcomes {
 public:
  Outcomes(DecisionCore& core, ClusterState& state, const Clock& clock) : core_(core), state_(state), clock_(clock) {}
  // Starts to watch the pod that a decision placed; `begun` is the state before the placement.
  void open(std::uint64_t decision_id, const placement::PodSpec& spec, const std::string& node, std::size_t row,
            placement::RawOutcome begun, const std::optional<ArmNow>& arm);
  void record(const std::string& node, const Record& record, const RecordNews& news);
  // Records that the pod left the node. `for_good`: false if its containers may return.
  void pod_gone(const std::string& pod_uid, const std::string& node, bool for_good = true) {
    windows_.pod_gone(pod_uid, node, for_good);
  }
  // Records that the pod could not run or stay on its node; `how` is a kube::PodFailure.
  void pod_failed(const std::string& pod_uid, const std::string& node, std::string_view how) {
    windows_.pod_failed(pod_uid, node, how);
  }
  void expire(MonoTime now) { settle(windows_.over(now)); }
  // Takes the rewards since the last call, without those of exploration.
  std::vector<Judged> take_judged() { return std::exchange(judged_, {}); }

 private:
  // Settles the outcomes of these windows.
  void settle(const std::vector<SettleWindow>& windows);
  void settled(const SettleWindow& window, placement::RawOutcome raw);

  DecisionCore& core_;
  ClusterState& state_;
  const Clock& clock_;
  OutcomeWindows windows_;
  std::uint64_t watched_ = 0;  // placements whose outcome was or is watched
  std::vector<Judged> judged_;
};

}  // namespace wattle::controller
