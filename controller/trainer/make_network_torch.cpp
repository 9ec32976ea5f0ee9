#include "controller/trainer/make_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::controller {

Result<std::unique_ptr<models::QTrainer>> make_network(const LearnConfig& config,
                                                       const std::optional<models::Weights>& initial) {
  if (config.tabular) return placement::make_tabular_trainer();
  models::TrainerOptions options;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.learning_rate = config.learning_rate;
  return models::make_torch_policy_trainer(options, initial);
}

Result<std::unique_ptr<models::PolicyTrainer>> make_provisioning_network(std::uint64_t seed) {
  models::TrainerOptions options;
  options.seed = seed;
  return models::make_torch_policy_trainer(options);
}

}  // namespace wattle::controller
