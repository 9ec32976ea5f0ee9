// guardrails: puts the verdicts of the rollout manager into force: on decisions, outcomes, measurements and orders.
// Rules    order(), decided() and watch() put their own verdict into force before they return. Rewards and monitors'
//          states wait until drain(), which the loop calls before it serves the next ask
// Source   verdicts of the rollout manager; rewards of the decider; power and budgets of the cluster state
// Units    W, and shares of the budgets
// Errors   order(): those of RolloutManager::handle(). Saved states that cannot be read are reported to the manager
// Threads  the loop's
#pragma once

#include <map>
#include <string>

#include "controller/parts.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/trainer/model_service.hpp"

namespace wattle::controller {

class Guardrails {
 public:
  Guardrails(const Parts& parts, ModelService& models) : parts_(parts), models_(models) {}
  // See DecisionSink::on_decided().
  bool decided(const ArmNow& arm, double max_abs_residual);
  // See RolloutManager::handle().
  Result<std::string> order(const std::string& what, const std::map<std::string, std::string>& arguments,
                            const std::string& who);
  // Compares energy and budgets; call about once a second.
  void watch();
  // Judges the rewards since the last call, and applies what changed.
  void drain();
  // Saves and restores the state of gates and monitors in the control file.
  void keep_monitors();
  void restore_monitors();

 private:
  void apply(RolloutEvent event);

  const Parts& parts_;
  ModelService& models_;
};

}  // namespace wattle::controller
