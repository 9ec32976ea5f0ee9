#include "controller/trainer/anchor.hpp"

#include <utility>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/policy_anchor.hpp"

namespace wattle::controller {

namespace {
constexpr double kTemperature = 0.15;  // temperature of the networks' training (models/networks.md)
}

Status Anchor::trust(const models::Weights& weights) {
  if (trainer_ == nullptr) return {};
  WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights, 0, "trusted network"));
  network_ = std::move(network);
  return {};
}

Status Anchor::stepped(std::span<const models::Transition> batch) {
  if (!holds() || ++since_ < every_) return {};
  since_ = 0;
  const std::vector<models::PolicyExample> examples = models::policy_anchor(*network_, batch, kTemperature);
  if (examples.empty()) return {};
  std::vector<const models::PolicyExample*> pointers;
  pointers.reserve(examples.size());
  for (const models::PolicyExample& each : examples) pointers.push_back(&each);
  WATTLE_TRY([[maybe_unused]] const auto stats, trainer_->imitate(pointers, kTemperature));
  return {};
}

}  // namespace wattle::controller
