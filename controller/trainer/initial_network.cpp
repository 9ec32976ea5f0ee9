#include "controller/trainer/initial_network.hpp"

#include <filesystem>

#include "controller/trainer/make_network.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

std::optional<models::Weights> InitialNetwork::weights() const {
  return network ? std::optional(network->weights) : std::nullopt;
}

InitialNetwork find_initial_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                    const std::string& models_dir) {
  InitialNetwork first;
  const std::string preset(placement::to_string(reward.preset));
  first.on_prior = !learn.tabular;
  if (learn.tabular || learn.pretrained == "none") {
    first.none = learn.tabular ? "policy is tabular-q" : "learn.pretrained is none";
    return first;
  }
  const bool automatic = learn.pretrained == "auto";
  const std::string file = automatic ? models_dir + "/" + preset + ".safetensors" : learn.pretrained;
  if (automatic && models_dir.empty()) {
    first.none = "the folder of shipped networks is unknown";
    return first;
  }
  auto read = models::read_pretrained(file, placement::feature_schema_hash(), preset);
  if (read) {
    first.network = std::move(*read);
    first.name = automatic ? "shipped:" + preset : file;
    return first;
  }
  std::error_code ignored;
  if (automatic && read.error().code == Errc::not_found && std::filesystem::is_directory(models_dir, ignored)) {
    first.none = "no network is shipped for the reward preset " + preset + " (" + models_dir + ")";
    return first;
  }
  first.fault = read.error();
  if (read.error().code == Errc::not_found)
    first.fault->fix = "install share/wattle/models next to the programs, or set learn.pretrained to a file or to none";
  return first;
}

Result<BegunNetwork> begin_network(const LearnConfig& learn, const placement::RewardConfig& reward,
                                   const std::string& models_dir) {
  BegunNetwork begun;
  begun.first = find_initial_network(learn, reward, models_dir);
  WATTLE_TRY(begun.trainer, make_network(learn, begun.first.weights()));
  return begun;
}

void report_initial_network(const InitialNetwork& first, const std::string& serving_from, bool resumed,
                            RolloutManager& rollout, const Log& log) {
  if (resumed) return;
  if (first.fault) {
    log.error("network.initial_failed", "the initial network cannot be loaded; an untrained network is used",
              {{"error", *first.fault}});
    rollout.audit("start", "not done: initial network loaded: " + first.fault->message(), {});
    return;
  }
  if (!first.network) {
    log.info("network.untrained", "learning starts with an untrained network", {{"why", first.none}});
    return;
  }
  if (serving_from != first.name) return;  // it was refused, which the trainer has logged
  log.info("network.pretrained", "learning starts with a pretrained network",
           {{"file", first.network->file}, {"network_sha256", first.network->network_sha256}});
  rollout.audit("start", "initial network loaded: " + first.name + ", " + first.network->network_sha256.substr(0, 12),
                first.network->file);
}

}  // namespace wattle::controller
