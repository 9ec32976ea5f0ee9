// choice: nine actions on rungs: their results, refusals, and the integral rule as the untrained behaviour.
#include "provision/minute/choice.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace wattle::models::provision {
namespace {

ServiceMinute at(double margin, double rule_margin) {
  ServiceMinute state;
  state.now.margin_ratio = margin;
  state.rule_margin_ratio = rule_margin;
  return state;
}

double margin_after(Lever lever, int direction, const ServiceMinute& state) {
  return after(action_of(lever, direction), state, Bounds()).margin_ratio;
}

// Prefers one action by a fixed value.
class Wants final : public QNetwork {
 public:
  Wants(std::size_t action, float how_much) : action_(action), how_much_(how_much) {}
  void residual(const Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    out[action_] = how_much_;
  }
  std::uint64_t step() const override { return 1; }

 private:
  std::size_t action_;
  float how_much_;
};

TEST_CASE("CPU moves by rungs of one factor, up as far as the rule if that is further, and back again") {
  const ServiceMinute state = at(-0.1, -0.1);
  CHECK(margin_after(Lever::cpu, 1, state) == doctest::Approx(0.9 * kMarginStep - 1));
  CHECK(margin_after(Lever::cpu, -1, state) == doctest::Approx(0.9 / kMarginStep - 1));
  CHECK(margin_after(Lever::cpu, 0, state) == -0.1);
  CHECK(margin_after(Lever::cpu, 1, at(-0.1, 0.2)) == doctest::Approx(0.2));
  const double off_rungs = margin_after(Lever::cpu, -1, at(0.2, 0));
  CHECK(off_rungs < 0.2);
  CHECK(margin_after(Lever::cpu, 1, at(off_rungs, 0)) == doctest::Approx(off_rungs * kMarginStep + kMarginStep - 1));
  CHECK(margin_after(Lever::memory, 1, state) == -0.1);
}

TEST_CASE("settings stay within their bounds for any actions, and an invalid action does nothing") {
  CHECK(rc::check([] {
    Bounds bounds;
    bounds.least_replicas = *rc::gen::inRange<std::size_t>(1, 3);
    bounds.most_replicas = bounds.least_replicas + *rc::gen::inRange<std::size_t>(0, 3);
    bounds.memory = *rc::gen::arbitrary<bool>();
    ServiceMinute state;
    state.now.replicas = bounds.least_replicas;
    for (const int drawn : *rc::gen::container<std::vector<int>>(100, rc::gen::inRange(0, 9))) {
      const auto action = static_cast<std::size_t>(drawn);
      const Setting before = state.now;
      state.rule_margin_ratio = *rc::gen::inRange(-10, 100) * 0.05;
      state.now = after(action, state, bounds);
      const bool same = state.now.margin_ratio == before.margin_ratio &&
                        state.now.memory_ratio == before.memory_ratio && state.now.replicas == before.replicas;
      RC_ASSERT(same == (action == kKeep || !valid(action, before, bounds)));
      RC_ASSERT(state.now.margin_ratio >= bounds.least_margin && state.now.margin_ratio <= bounds.most_margin);
      RC_ASSERT(state.now.memory_ratio >= bounds.least_memory && state.now.memory_ratio <= bounds.most_memory);
      RC_ASSERT(state.now.replicas >= bounds.least_replicas && state.now.replicas <= bounds.most_replicas);
      RC_ASSERT(observe(state, bounds).valid[kKeep] == 1);
    }
  }));
}

TEST_CASE("untrained, the choice is the integral rule, by at most one rung") {
  const auto choice = [&](const ServiceMinute& state) { return best_action(observe(state, Bounds()), nullptr); };
  CHECK(choice(at(0.2, 0.5)) == action_of(Lever::cpu, 1));
  CHECK(choice(at(0.5, 0.2)) == action_of(Lever::cpu, -1));
  CHECK(choice(at(-0.1, -0.1)) == kKeep);
  ServiceMinute state = at(-0.1, -0.1);
  state.memory_share = 0.1;
  CHECK(choice(state) == kKeep);
  state.now.memory_ratio = 0.5;
  CHECK(choice(state) == action_of(Lever::memory, -1));
}

TEST_CASE("untrained, added replicas are removed again, and the number never falls below the owner's") {
  Bounds bounds;
  bounds.least_replicas = 2;
  bounds.most_replicas = 4;
  ServiceMinute state = at(-0.1, -0.1);
  state.memory_share = 0.1;
  state.now.replicas = 3;
  CHECK(best_action(observe(state, bounds), nullptr) == action_of(Lever::replicas, -1));
  state.now.replicas = 2;
  CHECK_FALSE(valid(action_of(Lever::replicas, -1), state.now, bounds));
  CHECK(best_action(observe(state, bounds), nullptr) == kKeep);
}

TEST_CASE("a network adds to the prior, and an invalid action is never chosen") {
  const ServiceMinute state = at(-0.1, -0.1);
  const std::size_t down = action_of(Lever::cpu, -1), fewer = action_of(Lever::replicas, -1);
  const Observation observation = observe(state, Bounds());
  const Wants mildly(down, 0.01F), strongly(down, 1.0F), not_valid(fewer, 100.0F);
  CHECK(best_action(observation, &mildly) == kKeep);
  CHECK(best_action(observation, &strongly) == down);
  CHECK(best_action(observation, &not_valid) == kKeep);
}

TEST_CASE("a student's input has neither latency nor rate, and invalid values are not input") {
  ServiceMinute state = at(-0.1, -0.1);
  state.latency = Latency{0.5, 3, 0.2};
  state.rate = Rate{2, 2, 0.5};
  const Observation blind = local_view(state, 0.3, Bounds()).observation;
  state.latency->over_ratio = 0.01;
  state.rate->over_last = 1;
  const Observation as_blind = local_view(state, 0.3, Bounds()).observation;
  CHECK(blind.pod == as_blind.pod);
  CHECK(blind.context == as_blind.context);
  CHECK(blind.pod[13] == 0);

  state.deviation_ratio = std::numeric_limits<double>::quiet_NaN();
  state.used_over_granted = std::numeric_limits<double>::infinity();
  const Observation odd = observe(state, Bounds());
  for (const float value : odd.pod) CHECK(std::isfinite(value));
}

TEST_CASE("the masks of the nine actions follow from who owns replicas and memory, in operation as in simulation") {
  CHECK(rc::check([] {
    const bool memory = *rc::gen::arbitrary<bool>();
    const auto replicas = *rc::gen::inRange<std::size_t>(1, 12);
    std::optional<std::size_t> wanted;
    if (*rc::gen::arbitrary<bool>()) wanted = *rc::gen::inRange<std::size_t>(1, 12);
    const Bounds bounds = bounds_of(memory, replicas, wanted);
    ServiceMinute state = at(*rc::gen::inRange(-6, 80) * 0.05, *rc::gen::inRange(-2, 80) * 0.05);
    state.now.memory_ratio = *rc::gen::inRange(0, 13) * 0.05;
    state.now.replicas = replicas;
    state.memory_share = *rc::gen::inRange(0, 5) * 0.1;
    const Observation seen = observe(state, bounds);
    RC_ASSERT(seen.valid.size() == kActions);
    RC_ASSERT(static_cast<bool>(seen.valid[action_of(Lever::replicas, 1)]) ==
              (wanted && replicas < *wanted + kMoreReplicas));
    RC_ASSERT(static_cast<bool>(seen.valid[action_of(Lever::replicas, -1)]) == (wanted && replicas > *wanted));
    for (const int direction : {-1, 1}) RC_ASSERT(memory || seen.valid[action_of(Lever::memory, direction)] == 0);
    RC_ASSERT(seen.valid[action_of(Lever::replicas, 0)] == 0 && seen.valid[action_of(Lever::memory, 0)] == 0);
    const auto best = *rc::gen::inRange<std::size_t>(0, kActions);
    const Wants wants(best, 100.0F);
    for (const QNetwork* network : {static_cast<const QNetwork*>(nullptr), static_cast<const QNetwork*>(&wants)}) {
      RC_ASSERT(seen.valid[best_action(seen, network)] == 1);
      const std::size_t applied = best_on_a_node(seen, network);
      RC_ASSERT(seen.valid[applied] == 1 && applied / kDirections != static_cast<std::size_t>(Lever::replicas));
    }
    if (seen.valid[best] == 1) RC_ASSERT(best_action(seen, &wants) == best);
  }));
}

TEST_CASE("untrained, the suggested replicas are those of the replica rule") {
  ServiceMinute state = at(0.1, 0.1);
  state.now.replicas = 2;
  CHECK(best_action(observe(state, bounds_of(true, 2, 4)), nullptr) == action_of(Lever::replicas, 1));
  CHECK(best_action(observe(state, bounds_of(true, 2, 2)), nullptr) == kKeep);
  CHECK(best_action(observe(state, bounds_of(true, 2, std::nullopt)), nullptr) == kKeep);
  state.memory_share = 0.1;
  CHECK(best_action(observe(state, bounds_of(true, 2, 1)), nullptr) == action_of(Lever::replicas, -1));
}

}  // namespace
}  // namespace wattle::models::provision
