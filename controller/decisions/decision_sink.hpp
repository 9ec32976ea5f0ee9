// decision_sink: receives decisions and placements at once, while they are made. The base class accepts every decision
// and ignores placements. Outcomes need no answer: Outcomes::take_judged() has them.
// Source   Asks and Placements, which call it
// Errors   none
// Threads  the loop's
#pragma once

#include <string>

#include "controller/rollout/rollout_spec.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  // Called for each decision; the largest residual is infinite if one was not finite. Returns false if the answer must
  // be neutral. May change the spec.
  virtual bool on_decided(const ArmNow& /*arm*/, double /*max_abs_residual*/) { return true; }
  // Called when a placement begins, but not for pods that a list or a node's first record shows as running.
  virtual void on_placed(const placement::PodSpec& /*pod*/, const std::string& /*node*/) {}
  // Called when the pod leaves the node on which it was seen.
  virtual void on_left(const placement::PodSpec& /*pod*/) {}
};

}  // namespace wattle::controller
