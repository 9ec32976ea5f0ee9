// network_choice: finds the network that serves the policy, and the others that could serve it.
// Networks the baseline, with which learning began, and the one learned on this cluster; each must fit policy and
//          reward
// Source   the configuration, the spec in force, the networks that the trainer published, and the engine's trials
// Errors   none: a network that does not fit is not offered
// Threads  single owner
#pragma once

#include <optional>
#include <vector>

#include "controller/config.hpp"
#include "controller/decisions/contender.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

class NetworkChoice {
 public:
  // All arguments outlive this object; `spec` is the one in force.
  NetworkChoice(const ControllerConfig& config, const ServingModel& networks, placement::DecisionEngine& engine,
                const RolloutSpec& spec)
      : config_(config), networks_(networks), engine_(engine), spec_(spec) {}
  // The network that serves the policy now, or null; another candidate may serve instead (see below).
  struct InUse {
    ServingModel::Network network;
    ModelVersion version;
    bool learned = false;  // learned here, unlike the initial network
  };
  InUse in_use() const;
  // States of the network that learning began with and of the one learned on this cluster; no value: there is none.
  struct NetworkStates {
    std::optional<stats::NetworkState> baseline, learned;
  };
  NetworkStates states() const;
  // The policy or network that serves, followed by those that could, with their measured differences; empty if no
  // network is consulted.
  std::vector<Contender> contenders() const;
  // Exploration of decisions made now: zero while the network is excluded.
  double epsilon() const;
  // Offers the networks that exist for a trial.
  void offer();

 private:
  // The networks that exist and fit the policy.
  struct Present {
    bool baseline = false, learned = false;  // learned: it differs from the baseline
  };
  Present present() const;
  std::vector<Contender> measured_contenders() const;
  // True if the network belongs to the policy and was trained for the reward preset; after a change the trainer
  // replaces it.
  bool fits(const ServingModel::Network& network, const ModelVersion& version) const {
    const bool judged_so = version.preset.empty() || version.preset == placement::to_string(spec_.reward.preset);
    return network != nullptr && judged_so && config_.learn.tabular == (spec_.policy == "tabular-q");
  }

  const ControllerConfig& config_;
  const ServingModel& networks_;
  placement::DecisionEngine& engine_;
  const RolloutSpec& spec_;
};

}  // namespace wattle::controller
