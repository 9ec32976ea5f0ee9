// network_store: the networks of a trainer: the one that learns, the trusted one (trusted_model), and the kept ones.
// Names    checkpoints without a name continue learning after a restart. Networks with a name wait for an order. Each
//          reward preset has its own networks, kept under kept_name() while another preset is in force; kPromotedModel
//          is that of the last promotion
// Presets  a change of the preset keeps the networks of the former one. The new preset gets its kept ones, or else its
//          initial ones (initial_network). A restart with the new preset leads to the same state
// Errors   those of the checkpoint directory and of networks that do not fit; the previous networks then stay
// Threads  the trainer's
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/config.hpp"
#include "controller/trainer/initial_network.hpp"
#include "controller/trainer/model_orders.hpp"
#include "controller/trainer/serving_model.hpp"
#include "controller/trainer/trusted_model.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

// A network that serving may use: finite, and within the bound on every one of the observations.
Result<ServingModel::Network> freeze_checked(const models::QTrainer& trainer, double max_abs_residual,
                                             const std::deque<models::Observation>& recent, bool on_prior = true);

class NetworkStore {
 public:
  using Figures = std::map<std::string, double>;  // of a manifest

  // `origin`: origin of the weights of `network`, which must outlive this object. `begin`: makes the initial network of
  // another preset that has none here; without it, the network as given.
  NetworkStore(const LearnConfig& config, const placement::RewardConfig& reward, models::CheckpointDir checkpoints,
               models::QTrainer& network, ServingModel& slot, const NetworkOrigin& origin, BeginNetwork begin,
               const Clock& clock, const Log& log);

  const NetworkOrigin& origin() const { return origin_; }
  const placement::RewardConfig& reward() const { return reward_; }
  // The reward as the network in use needs it: with or without the prior.
  placement::RewardConfig learned_by() const;
  bool fits_preset(const models::Manifest& manifest) const;
  // Pulls the network towards the trusted one after a training step on this batch.
  Status stepped(std::span<const models::Transition> batch);

  // Loads the newest checkpoint; no value if there is none or it is not usable, which is logged.
  std::optional<models::LoadedCheckpoint> newest() const;
  // Restores the network of a checkpoint of the preset in force.
  Status restore(const models::LoadedCheckpoint& loaded);
  // Records that the restored network is that of this checkpoint, with the network that it was anchored to.
  void resumed(const models::LoadedCheckpoint& loaded);
  // Writes the networks and the learner's tensors.
  Status save(const models::Weights& learner, const Figures& figures);

  // Continues under another reward of the same preset.
  void set_reward(const placement::RewardConfig& reward) { reward_ = reward; }
  Status keep_for_preset(const Figures& figures);
  Status keep_for_preset(const models::LoadedCheckpoint& loaded);
  // Starts the preset in force with its kept or initial networks.
  Status begin_preset();
  // Trusts the promoted network unless a later one was chosen.
  void trust_promoted();

  // Puts the network that learns into use. Errors: as freeze_checked.
  Status serve(const std::deque<models::Observation>& recent);
  // Answers to orders (model_orders.hpp).
  Status load(const std::string& name, const std::deque<models::Observation>& recent);
  Result<models::LoadedCheckpoint> load_named(const std::string& name) const;
  Result<std::string> add(const ModelOrder& order);
  Result<std::string> save_as(const std::string& name, const Figures& figures);
  bool trusts() const { return trusted_.present(); }
  // Keeps the trusted network, which serves, as the promoted one.
  Result<std::string> keep_trusted(const Figures& figures);
  bool on_prior(const models::Manifest& manifest) const;

  // The network in use and the kept ones, as of the last look at the directory.
  ModelList models() const { return {listed_, serving_network_, serving_from_, {}}; }
  void look();

 private:
  Status begin_initial();
  void trust_kept(const models::LoadedCheckpoint& kept);
  Status keep(const std::string& preset, const models::Weights& networks, const models::Manifest& manifest);
  Status of_preset(const models::LoadedCheckpoint& loaded, const std::string& name) const;
  models::Manifest manifest(const Figures& figures) const;
  models::Weights networks() const;

  const LearnConfig& config_;
  placement::RewardConfig reward_;
  models::CheckpointDir checkpoints_;
  models::QTrainer& network_;
  const models::Weights untrained_;  // initial weights of network_
  ServingModel& slot_;
  NetworkOrigin origin_;
  const BeginNetwork begin_;
  const Clock& clock_;
  const Log& log_;
  TrustedModel trusted_;
  std::uint64_t from_step_ = 0;  // of the network that was loaded last
  std::string serving_network_, serving_from_;
  std::vector<models::ListedCheckpoint> listed_;
};

}  // namespace wattle::controller
