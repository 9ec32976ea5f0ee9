#include "provision/minute/choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace wattle::models::provision {

namespace {

constexpr double kLeft = 0.01;  // share of requests over target when their 99th percentile is at the target
// Slope for a margin below the rule's. With a slope of two, rungs wider than the rule's steps would hold the margin.
constexpr double kSteep = 1.5;
constexpr double kMostInput = 5;
constexpr double kRungSlack = 1e-6;  // a value within rounding of a rung is on it

float input(double value) {
  return std::isfinite(value) ? static_cast<float>(std::clamp(value, -kMostInput, kMostInput)) : 0.0F;
}

// Next rung of base x step^k.
double next_rung(double ratio, int direction, double base, double step) {
  const double rung = std::log((1 + ratio) / base) / std::log(step);
  const double next = direction > 0 ? std::floor(rung + kRungSlack) + 1 : std::ceil(rung - kRungSlack) - 1;
  return base * std::pow(step, next) - 1;
}

constexpr double kMarginBase = 0.9;  // minimum of the integral rule

double margin_cost(double margin, double rule) { return margin + kSteep * std::max(0.0, rule - margin); }

std::size_t best_of(const Observation& observation, const std::array<float, kActions>& said) {
  std::size_t best = kKeep;
  for (std::size_t i = 0; i < kActions; ++i)
    if (observation.valid[i] != 0 && said[i] + observation.prior[i] > said[best] + observation.prior[best]) best = i;
  return best;
}

double memory_cost(double ratio, const ServiceMinute& state) {
  // The slope below the rule equals the slope above it.
  return state.memory_share * (ratio + 2 * std::max(0.0, kRuleMemory - ratio));
}

}  // namespace

Bounds bounds_of(bool memory, std::size_t replicas, std::optional<std::size_t> wanted_replicas) {
  Bounds bounds;
  bounds.memory = memory;
  bounds.least_replicas = wanted_replicas.value_or(replicas);
  bounds.most_replicas = wanted_replicas ? *wanted_replicas + kMoreReplicas : replicas;
  return bounds;
}

bool valid(std::size_t action, const Setting& now, const Bounds& bounds) {
  const auto lever = static_cast<Lever>(action / kDirections);
  const int direction = static_cast<int>(action % kDirections) - 1;
  if (direction == 0) return action == kKeep;
  switch (lever) {
    case Lever::replicas:
      return direction > 0 ? now.replicas < bounds.most_replicas : now.replicas > bounds.least_replicas;
    case Lever::cpu:
      return direction > 0 ? now.margin_ratio < bounds.most_margin - kRungSlack
                           : now.margin_ratio > bounds.least_margin + kRungSlack;
    case Lever::memory:
      return bounds.memory && (direction > 0 ? now.memory_ratio < bounds.most_memory - kRungSlack
                                             : now.memory_ratio > bounds.least_memory + kRungSlack);
  }
  return false;
}

Setting after(std::size_t action, const ServiceMinute& state, const Bounds& bounds) {
  Setting next = state.now;
  const int direction = static_cast<int>(action % kDirections) - 1;
  if (direction == 0 || !valid(action, state.now, bounds)) return next;
  switch (static_cast<Lever>(action / kDirections)) {
    case Lever::replicas:
      next.replicas = direction > 0 ? next.replicas + 1 : next.replicas - 1;
      break;
    case Lever::cpu: {
      const double rung = next_rung(next.margin_ratio, direction, kMarginBase, kMarginStep);
      const double far = direction > 0 ? std::max(rung, state.rule_margin_ratio) : rung;
      next.margin_ratio = std::clamp(far, bounds.least_margin, bounds.most_margin);
      break;
    }
    case Lever::memory:
      next.memory_ratio = std::clamp(next_rung(next.memory_ratio, direction, 1 + kRuleMemory, kMemoryStep),
                                     bounds.least_memory, bounds.most_memory);
      break;
  }
  return next;
}

double within_a_rung(double chosen, double now, double rule_margin, const Bounds& bounds) {
  const double least = (1 + now) / kMarginStep - 1, most = std::max((1 + now) * kMarginStep - 1, rule_margin);
  return std::clamp(std::clamp(chosen, least, most), bounds.least_margin, bounds.most_margin);
}

double memory_within_a_rung(double chosen, double now, const Bounds& bounds) {
  const double near = std::clamp(chosen, (1 + now) / kMemoryStep - 1, (1 + now) * kMemoryStep - 1);
  return std::clamp(near, bounds.least_memory, bounds.most_memory);
}

double price_of_over(const Price& price, double over_ratio) { return price.over * std::max(0.0, over_ratio - kLeft); }

Observation observe(const ServiceMinute& state, const Bounds& bounds) {
  Observation out;
  out.nodes = kActions;
  out.node.resize(kActions * kNodeFeatures);
  out.prior.resize(kActions);
  out.valid.resize(kActions);
  std::array<double, kActions> cost{};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t action = 0; action < kActions; ++action) {
    const Setting next = after(action, state, bounds);
    out.valid[action] = valid(action, state.now, bounds) ? 1 : 0;
    const double replicas = static_cast<double>(next.replicas) / static_cast<double>(state.now.replicas);
    const double below = std::max(0.0, static_cast<double>(bounds.least_replicas) - static_cast<double>(next.replicas));
    cost[action] = margin_cost(next.margin_ratio, state.rule_margin_ratio) +
                   memory_cost(next.memory_ratio, state) * replicas + state.memory_share * (replicas - 1) + below;
    if (out.valid[action] != 0) least = std::min(least, cost[action]);
    const double direction = static_cast<double>(action % kDirections) - 1;
    float* to = &out.node[action * kNodeFeatures];
    *to++ = action / kDirections == 0 ? input(direction) : 0.0F;
    *to++ = action / kDirections == 1 ? input(direction) : 0.0F;
    *to++ = action / kDirections == 2 ? input(direction) : 0.0F;
    *to++ = action == kKeep ? 1.0F : 0.0F;
    *to++ = input(4 * std::log1p(next.margin_ratio));
    *to++ = input(4 * (next.margin_ratio - state.rule_margin_ratio));
    *to++ = input(4 * std::log1p(next.memory_ratio));
    *to++ = input(std::log2(static_cast<double>(next.replicas)));
    // Change of the grant if usage stays the same.
    *to++ = input(4 * (std::log1p(next.margin_ratio) - std::log1p(state.now.margin_ratio)));
    *to++ = input(4 * std::log(std::max(replicas, 0.01)));
  }
  for (std::size_t action = 0; action < kActions; ++action)
    out.prior[action] = static_cast<float>(least - cost[action]);

  const auto log_of = [](double ratio) { return std::log(std::clamp(ratio, 0.01, 100.0)); };
  out.pod = {input(4 * state.throttled_ratio),
             input(2 * log_of(state.used_over_granted)),
             input(state.used_over_node),
             input(2 * state.deviation_ratio),
             input(state.peak_ratio - 1),
             input(2 * log_of(state.used_over_last)),
             input(4 * state.missed_ratio),
             input(4 * log_of(state.working_over_peak)),
             input(4 * std::log1p(state.now.margin_ratio)),
             input(4 * state.rule_margin_ratio),
             input(4 * std::log1p(state.now.memory_ratio)),
             input(10 * state.memory_share),
             input(std::log2(static_cast<double>(state.now.replicas)))};
  if (state.latency) {
    out.pod[13] = 1;
    out.pod[14] = input(std::log1p(100 * state.latency->over_ratio));
    out.pod[15] = input(log_of(state.latency->p99_over_target));
    out.context[0] = input(std::log1p(100 * state.latency->over_lately_ratio));
  }
  if (state.rate) {
    out.context[1] = 1;
    out.context[2] = input(2 * log_of(state.rate->over_last));
    out.context[3] = input(4 * log_of(state.rate->expected_over_last));
    out.context[4] = input(4 * state.rate->range_ratio);
  }
  const double turn = 2 * std::numbers::pi * state.day_ratio;
  out.context[5] = input(std::sin(turn));
  out.context[6] = input(std::cos(turn));
  return out;
}

std::size_t best_action(const Observation& observation, const QNetwork* network) {
  std::array<float, kActions> said{};
  if (network != nullptr) network->residual(observation, said);
  return best_of(observation, said);
}

std::size_t best_on_a_node(Observation observation, const QNetwork* network) {
  for (const int direction : {-1, 1}) observation.valid[action_of(Lever::replicas, direction)] = 0;
  return best_action(observation, network);
}

LocalView local_view(ServiceMinute state, double rule_margin_ratio, Bounds bounds) {
  state.latency.reset();
  state.rate.reset();
  state.day_ratio = 0;
  state.rule_margin_ratio = rule_margin_ratio;
  bounds.least_replicas = bounds.most_replicas = state.now.replicas;
  LocalView view{observe(state, bounds), state, bounds};
  return view;
}

std::optional<Setting> choose_locally(const ServiceMinute& state, double rule_margin_ratio, const Bounds& bounds,
                                      const QNetwork* student) {
  const LocalView view = local_view(state, rule_margin_ratio, bounds);
  std::array<float, kActions> said{};
  if (student != nullptr) student->residual(view.observation, said);
  if (!std::all_of(said.begin(), said.end(), [](float value) { return std::isfinite(value); })) return std::nullopt;
  return after(best_of(view.observation, said), view.state, view.bounds);
}

}  // namespace wattle::models::provision
