#include "provision/minute/lesson.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace wattle::models::provision {

PolicyExample lesson(Observation own, const Observation& whole, const QNetwork* teacher, double temperature) {
  std::array<float, kActions> said{};
  if (teacher != nullptr) teacher->residual(whole, said);
  const auto value = [&](std::size_t action) { return static_cast<double>(said[action] + whole.prior[action]); };
  PolicyExample example;
  example.tried = own.valid;
  example.target.assign(kActions, 0);
  double best = value(kKeep), sum = 0;
  for (std::size_t i = 0; i < kActions; ++i)
    if (own.valid[i] != 0) best = std::max(best, value(i));
  std::array<double, kActions> likely{};
  for (std::size_t i = 0; i < kActions; ++i)
    if (own.valid[i] != 0) sum += likely[i] = std::exp((value(i) - best) / temperature);
  for (std::size_t i = 0; i < kActions; ++i) example.target[i] = static_cast<float>(likely[i] / sum);
  example.state = std::move(own);
  return example;
}

std::size_t taught_action(const PolicyExample& lesson) {
  return static_cast<std::size_t>(std::ranges::max_element(lesson.target) - lesson.target.begin());
}

LocalView view_on_a_node(ServiceMinute state, double rule_margin_ratio) {
  const ServiceMinute unknown;
  state.missed_ratio = unknown.missed_ratio;
  state.working_over_peak = unknown.working_over_peak;
  state.memory_share = unknown.memory_share;
  state.now.memory_ratio = unknown.now.memory_ratio;
  Bounds bounds;
  bounds.memory = false;
  return local_view(std::move(state), rule_margin_ratio, bounds);
}

}  // namespace wattle::models::provision
