#include "controller/trainer/anchor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "models/frozen/frozen_network.hpp"

namespace wattle::controller {

namespace {
constexpr double kTemperature = 0.15;  // temperature of the networks' training (models/networks.md)

// Examples that pull a policy towards the choices of another: their cross-entropy is lowest if both choose alike (it is
// KL(anchor, policy) plus a constant). Each target is softmax((prior + the anchor's residual) / kTemperature) over the
// state's valid nodes; a state without one gives no example.
std::vector<models::PolicyExample> examples_of(const models::QNetwork& anchor,
                                               std::span<const models::Transition> batch) {
  std::vector<models::PolicyExample> examples;
  std::vector<float> q;
  for (const models::Transition& each : batch) {
    const models::Observation& state = each.state;
    models::PolicyExample example{state, std::vector<float>(state.nodes, 0.0F), state.valid, {}};
    q.assign(state.nodes, 0.0F);
    anchor.residual(state, q);
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i)
      if (state.valid[i] != 0) highest = std::max(highest, static_cast<double>(q[i] += state.prior[i]));
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (state.valid[i] == 0) continue;
      const double likely = std::exp((static_cast<double>(q[i]) - highest) / kTemperature);
      example.target[i] = static_cast<float>(likely);
      sum += likely;
    }
    if (!(sum > 0)) continue;
    for (float& target : example.target) target /= static_cast<float>(sum);
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace

Status Anchor::trust(const models::Weights& weights) {
  if (trainer_ == nullptr) return {};
  WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights, 0, "trusted network"));
  network_ = std::move(network);
  return {};
}

Status Anchor::stepped(std::span<const models::Transition> batch) {
  if (!holds()) return {};
  const std::vector<models::PolicyExample> examples = examples_of(*network_, batch);
  if (examples.empty()) return {};
  std::vector<const models::PolicyExample*> pointers;
  pointers.reserve(examples.size());
  for (const models::PolicyExample& each : examples) pointers.push_back(&each);
  WATTLE_TRY([[maybe_unused]] const auto stats, trainer_->imitate(pointers, kTemperature));
  return {};
}

}  // namespace wattle::controller
