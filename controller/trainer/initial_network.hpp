// initial_network: the network of a controller without its own checkpoint: the one that comes with the programs for the
// reward in force, another file, or none.
// Source   learn.pretrained: auto (MODELS/PRESET.safetensors), none, or a file; docs/reference/networks.md
// Errors   a missing or damaged file, or one of another schema or preset, is logged, and learning starts without a
//          network
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
#include "placement/worth/reward.hpp"

namespace wattle::controller {

// Origin of a network, and whether its output adds to the prior of its reward.
struct NetworkOrigin {
  std::string from;  // InitialNetwork's name; empty: untrained, so that only the prior decided
  bool on_prior = true;
  std::string certificate = {};  // evidence for it (models/frozen/pretrained)
};

struct InitialNetwork {
  std::optional<models::Pretrained> network;
  std::string name;            // origin in `wattle model list`: "shipped:weighted"
  std::optional<Error> fault;  // problem of an expected file
  std::string none;            // why there is no network, if that is not a problem
  bool on_prior = true;        // whether an untrained start uses a prior; a table has none

  std::optional<models::Weights> weights() const;
  NetworkOrigin origin() const {
    return network ? NetworkOrigin{name, network->on_prior, network->certificate} : NetworkOrigin{{}, on_prior};
  }
};

// `models_dir` is the directory for auto.
InitialNetwork find_initial_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                    const std::string& models_dir);

// Initial trainer for a reward. Errors: as make_network.
struct BegunNetwork {
  std::unique_ptr<models::QTrainer> trainer;
  InitialNetwork first;
};
Result<BegunNetwork> begin_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                   const std::string& models_dir);
using BeginNetwork = std::function<Result<BegunNetwork>(const placement::RewardConfig& reward)>;

// Logs and audits the initial network once the serving one is known; `serving_from` is that of ModelVersion. Reports
//          nothing for a network that this controller learned.
void report_initial_network(const InitialNetwork& first, const std::string& serving_from, bool resumed,
                            RolloutManager& rollout, const Log& log);

}  // namespace wattle::controller
