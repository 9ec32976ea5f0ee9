// initial_network: what a controller begins with that has no checkpoint of its own: the network that comes with the programs
// for the reward in force, another file, or none.
// Source   learn.pretrained: auto (MODELS/PRESET.safetensors), none, or a file; docs/reference/networks.md
// Errors   a file that is missing, damaged or of another schema or preset is told, and learning begins with nothing
// Threads  single owner, at start
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "controller/config.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/reward.hpp"

namespace wattle::controller {

// Where a network's learning began, and whether it adds to the prior of its reward.
struct NetworkOrigin {
  std::string from;  // as InitialNetwork has its name; empty: it knew nothing, and the prior alone decided
  bool on_prior = true;
  std::string certificate = {};  // what speaks for it (models/frozen/pretrained)
};

struct InitialNetwork {
  std::optional<models::Pretrained> network;
  std::string name;            // as `wattle model list` tells where the serving network is from: "shipped:weighted"
  std::optional<Error> fault;  // of a file that should have been there
  std::string none;            // why there is none, where nothing is wrong
  bool on_prior = true;        // of what begins where there is none; a table has no prior

  std::optional<models::Weights> weights() const;
  NetworkOrigin origin() const {
    return network ? NetworkOrigin{name, network->on_prior, network->certificate} : NetworkOrigin{{}, on_prior};
  }
};

// `models_dir` is where files are looked for by auto.
InitialNetwork find_initial_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                    const std::string& models_dir);

// What learning begins with for a reward. Errors: as make_network.
struct BegunNetwork {
  std::unique_ptr<models::QTrainer> trainer;
  InitialNetwork first;
};
Result<BegunNetwork> begin_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                   const std::string& models_dir);
using BeginNetwork = std::function<Result<BegunNetwork>(const placement::RewardConfig& reward)>;

// Log and audit, once it is known what serves; `serving_from` as ModelVersion has it. A network of one's own: nothing is said.
void tell_initial_network(const InitialNetwork& first, const std::string& serving_from, bool resumed,
                          RolloutManager& rollout, const Log& log);

}  // namespace wattle::controller
