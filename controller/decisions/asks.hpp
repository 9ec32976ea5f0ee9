// asks: answers requests for the node of a pod, and scores pod classes in advance for shims that cannot reach the
// controller in time.
// Rules    the same pod with the same candidates gets the same answer within `repeat_within`. In mode live an advised
//          node reserves the pod until the pod is seen or the expectation expires
// Wait     if the ask permits it and advice is acted upon, a decision may defer the pod (placement/decide/deferral).
//          Deferrals bounds the waiting and repeats the answer until it is time to ask again. Askers that do not permit
//          it, such as shims, never get it
// Next     a decision keeps room for the pods that the ask names as next, or else for up to decide.look_ahead pods of
//          the API server's queue (placement/decide/look_ahead)
// Errors   none: a decision that cannot be made is neutral and gives the reason
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/messages.hpp"
#include "controller/decisions/decision_core.hpp"
#include "controller/decisions/decision_sink.hpp"
#include "controller/decisions/deferrals.hpp"
#include "controller/decisions/repeats.hpp"

namespace wattle::controller {

class Asks {
 public:
  Asks(DecisionCore& core, ClusterState& state, DecisionSink& sink, const Clock& clock)
      : core_(core), state_(state), sink_(sink), clock_(clock) {}
  wire::Suggestion ask(wire::Ask ask);
  // Returns the decision for a pod under the given pod spec and reward, in the form of a log entry, without recording,
  // reserving or learning anything. A running pod is evaluated as if it were not on its node.
  LoggedDecision what_if(placement::PodSpec pod, std::vector<std::string> candidates,
                         const placement::RewardConfig& reward);
  std::vector<wire::BoardClass> board();
  // Computes class `number` of placement::kBoardClassCores; no ask is answered meanwhile.
  wire::BoardClass board_class(std::size_t number);
  // Sets the number of starts still allowed on each node of the board.
  void report_starts(wire::Board& board);
  void expire(MonoTime now);
  // Restores a decision from before the restart.
  void recall(const wire::Decision& decision);
  // Forgets the answer for a pod that is placed or deleted.
  void forget(const std::string& pod_uid) { repeats_.forget(pod_uid); }

 private:
  wire::Suggestion decide(wire::Ask ask, MonoTime now);
  // Forgets answers of an earlier edition.
  void drop_outdated();
  // The next pods: those that the ask names, or else those of the API server's queue.
  std::vector<placement::PodSpec> next_pods(const wire::Ask& ask) const;

  DecisionCore& core_;
  ClusterState& state_;
  DecisionSink& sink_;
  const Clock& clock_;
  Repeats repeats_;
  Deferrals deferrals_;
  std::uint64_t edition_ = 0;  // of the answers in repeats_
};

}  // namespace wattle::controller
