// Nine actions on rungs: what each leads to, what is refused, and that nothing learned means the integral rule.
#include "models/provision/choice.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace wattle::models::provision {
namespace {

Sight at(double margin, double rule_margin) {
  Sight sight;
  sight.now.margin_ratio = margin;
  sight.rule_margin_ratio = rule_margin;
  return sight;
}

double margin_after(Lever lever, int direction, const Sight& sight) {
  return after(action_of(lever, direction), sight, Bounds()).margin_ratio;
}

// Says one thing of one action.
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

TEST_CASE("CPU goes by rungs of one factor, up as far as the rule if that is further, and back to where it was") {
  const Sight sight = at(-0.1, -0.1);
  CHECK(margin_after(Lever::cpu, 1, sight) == doctest::Approx(0.9 * kMarginStep - 1));
  CHECK(margin_after(Lever::cpu, -1, sight) == doctest::Approx(0.9 / kMarginStep - 1));
  CHECK(margin_after(Lever::cpu, 0, sight) == -0.1);
  CHECK(margin_after(Lever::cpu, 1, at(-0.1, 0.2)) == doctest::Approx(0.2));
  const double off_rungs = margin_after(Lever::cpu, -1, at(0.2, 0));
  CHECK(off_rungs < 0.2);
  CHECK(margin_after(Lever::cpu, 1, at(off_rungs, 0)) == doctest::Approx(off_rungs * kMarginStep + kMarginStep - 1));
  CHECK(margin_after(Lever::memory, 1, sight) == -0.1);
}

TEST_CASE("settings stay within their bounds whatever is done, and what is not valid does nothing") {
  CHECK(rc::check([] {
    Bounds bounds;
    bounds.least_replicas = *rc::gen::inRange<std::size_t>(1, 3);
    bounds.most_replicas = bounds.least_replicas + *rc::gen::inRange<std::size_t>(0, 3);
    bounds.memory = *rc::gen::arbitrary<bool>();
    Sight sight;
    sight.now.replicas = bounds.least_replicas;
    for (const int drawn : *rc::gen::container<std::vector<int>>(100, rc::gen::inRange(0, 9))) {
      const auto action = static_cast<std::size_t>(drawn);
      const Setting before = sight.now;
      sight.rule_margin_ratio = *rc::gen::inRange(-10, 100) * 0.05;
      sight.now = after(action, sight, bounds);
      const bool same = sight.now.margin_ratio == before.margin_ratio &&
                        sight.now.memory_ratio == before.memory_ratio && sight.now.replicas == before.replicas;
      RC_ASSERT(same == (action == kKeep || !valid(action, before, bounds)));
      RC_ASSERT(sight.now.margin_ratio >= bounds.least_margin && sight.now.margin_ratio <= bounds.most_margin);
      RC_ASSERT(sight.now.memory_ratio >= bounds.least_memory && sight.now.memory_ratio <= bounds.most_memory);
      RC_ASSERT(sight.now.replicas >= bounds.least_replicas && sight.now.replicas <= bounds.most_replicas);
      RC_ASSERT(observe(sight, bounds).valid[kKeep] == 1);
    }
  }));
}

TEST_CASE("nothing learned is the integral rule: to where it goes, and no further than a rung") {
  const auto choice = [&](const Sight& sight) { return best_action(observe(sight, Bounds()), nullptr); };
  CHECK(choice(at(0.2, 0.5)) == action_of(Lever::cpu, 1));
  CHECK(choice(at(0.5, 0.2)) == action_of(Lever::cpu, -1));
  CHECK(choice(at(-0.1, -0.1)) == kKeep);
  Sight sight = at(-0.1, -0.1);
  sight.memory_share = 0.1;
  CHECK(choice(sight) == kKeep);
  sight.now.memory_ratio = 0.5;
  CHECK(choice(sight) == action_of(Lever::memory, -1));
}

TEST_CASE("replicas that were added go again when nothing is learned, and are never below what their owner wants") {
  Bounds bounds;
  bounds.least_replicas = 2;
  bounds.most_replicas = 4;
  Sight sight = at(-0.1, -0.1);
  sight.memory_share = 0.1;
  sight.now.replicas = 3;
  CHECK(best_action(observe(sight, bounds), nullptr) == action_of(Lever::replicas, -1));
  sight.now.replicas = 2;
  CHECK_FALSE(valid(action_of(Lever::replicas, -1), sight.now, bounds));
  CHECK(best_action(observe(sight, bounds), nullptr) == kKeep);
}

TEST_CASE("a network adds to the prior, and what is not valid is never chosen") {
  const Sight sight = at(-0.1, -0.1);
  const std::size_t down = action_of(Lever::cpu, -1), fewer = action_of(Lever::replicas, -1);
  const Observation observation = observe(sight, Bounds());
  const Wants mildly(down, 0.01F), strongly(down, 1.0F), not_valid(fewer, 100.0F);
  CHECK(best_action(observation, &mildly) == kKeep);
  CHECK(best_action(observation, &strongly) == down);
  CHECK(best_action(observation, &not_valid) == kKeep);
}

TEST_CASE("what a student sees has nothing of latency and rate, and nonsense is no input") {
  Sight sight = at(-0.1, -0.1);
  sight.latency = Latency{0.5, 3, 0.2};
  sight.rate = Rate{2, 2, 0.5};
  const Observation blind = local_view(sight, 0.3, Bounds()).observation;
  sight.latency->over_ratio = 0.01;
  sight.rate->over_last = 1;
  const Observation as_blind = local_view(sight, 0.3, Bounds()).observation;
  CHECK(blind.pod == as_blind.pod);
  CHECK(blind.context == as_blind.context);
  CHECK(blind.pod[13] == 0);

  sight.deviation_ratio = std::numeric_limits<double>::quiet_NaN();
  sight.used_over_granted = std::numeric_limits<double>::infinity();
  const Observation odd = observe(sight, Bounds());
  for (const float value : odd.pod) CHECK(std::isfinite(value));
}

}  // namespace
}  // namespace wattle::models::provision
