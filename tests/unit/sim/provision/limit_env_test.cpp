// limit_env: limits as an environment: the sums of rewards, the effects of actions, and refusals.
#include "sim/provision/limit_env.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle;
using namespace wattle::sim::provision;

namespace {
LimitEnvOptions options_of(double rate_rps, std::size_t seconds, std::size_t services = 1) {
  LimitEnvOptions options;
  options.traces = {std::make_shared<const RateTrace>(RateTrace{"flat", std::vector<double>(seconds, rate_rps)})};
  options.world.services = services;
  return options;
}

struct LimitPlay {
  double reward = 0;
  std::size_t steps = 0;
  Figures figures;
};

template <class Choose>
LimitPlay play_limits(LimitEnv& env, std::uint64_t seed, const Choose& choose) {
  LimitPlay played;
  LimitStep step = env.reset(seed);
  while (!step.done) {
    auto next = env.step(static_cast<std::uint64_t>(choose(step)));
    REQUIRE(next);
    step = std::move(*next);
    played.reward += step.reward;
    ++played.steps;
  }
  played.figures = env.figures();
  return played;
}
}  // namespace

TEST_CASE("rewards add up to the figures (granted cores and minutes over target) for any actions") {
  CHECK(rc::check([] {
    LimitEnvOptions options = options_of(*rc::gen::inRange(20, 200), 180, *rc::gen::inRange<std::size_t>(1, 4));
    options.over_price = 7;
    LimitEnv env(options);
    const auto levels = *rc::gen::container<std::vector<std::uint64_t>>(4, rc::gen::inRange<std::uint64_t>(0, kLevels));
    std::size_t at = 0;
    const auto played = play_limits(env, 5, [&](const LimitStep&) {
      std::uint64_t action = 0;
      for (std::size_t i = 0; i < options.world.services; ++i) action = action * kLevels + levels[at++ % levels.size()];
      return action;
    });
    const double share = played.figures.granted_cores / (4.0 * static_cast<double>(options.world.services));
    const double expected = -share * 180 - 7.0 * static_cast<double>(played.figures.minutes_over);
    RC_ASSERT(std::abs(played.reward - expected) < 0.02 * std::abs(expected) + 0.02);
    RC_ASSERT(played.steps >= 179 && played.steps <= 181);
  }));
}

TEST_CASE("a level is the limit of its own service, and an unchanged one is not written") {
  LimitEnv env(options_of(50, 120, 2));
  CHECK(env.actions() == kLevels * kLevels);
  CHECK(env.level_cores(0) == doctest::Approx(0.05));
  CHECK(env.level_cores(kLevels - 1) == doctest::Approx(4));
  const LimitStep first = env.reset(3);
  CHECK(first.now_s >= 0);
  REQUIRE(first.services.size() == 2);
  CHECK(first.services[0].limit_cores == doctest::Approx(4));
  const auto next = env.step(20 + 25 * kLevels);
  REQUIRE(next);
  CHECK(next->services[0].limit_cores == doctest::Approx(env.level_cores(20)).epsilon(0.001));
  CHECK(next->services[1].limit_cores == doctest::Approx(env.level_cores(25)).epsilon(0.001));
  for (int i = 0; i < 100; ++i) REQUIRE(env.step(20 + 25 * kLevels));
  CHECK(env.figures().writes_per_minute < 5);
}

TEST_CASE("too low a limit is throttled, late and costly; a seed gives the same bytes") {
  LimitEnv env(options_of(100, 240));
  const auto starved = play_limits(env, 9, [](const LimitStep&) { return 8; });
  const auto fed = play_limits(env, 9, [](const LimitStep& step) {
    CHECK(step.services[0].used_cores < 2);
    return 24;
  });
  CHECK(starved.figures.minutes_over == 4);
  CHECK(fed.figures.minutes_over == 0);
  CHECK(fed.reward > starved.reward);
  CHECK(play_limits(env, 9, [](const LimitStep&) { return 24; }).reward == fed.reward);
  CHECK(play_limits(env, 10, [](const LimitStep&) { return 24; }).figures.requests != fed.figures.requests);
  env.reset(9);
  const auto hungry = env.step(0);
  REQUIRE(hungry);
  CHECK(hungry->services[0].throttled_ratio > 0.8);
}

TEST_CASE("an invalid action changes nothing, and none acts before reset or after the end") {
  LimitEnv env(options_of(50, 10));
  CHECK(env.step(0).error().code == Errc::conflict);
  env.reset(1);
  const auto refused = env.step(kLevels);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_range);
  CHECK(env.figures().writes_per_minute == 0);
  while (!env.step(31)->done) continue;
  CHECK(env.step(0).error().code == Errc::conflict);
}

TEST_CASE("the current minute's rate is forecast from the third minute on, and from scratch in each episode") {
  LimitEnv env(options_of(80, 300));
  LimitStep step = env.reset(1);
  CHECK(step.expected.rate_rps == 0);
  while (step.now_s < 200) step = *env.step(kLevels - 1);
  CHECK(step.expected.rate_rps == doctest::Approx(80).epsilon(0.1));
  CHECK(step.expected.low_rps < step.expected.rate_rps);
  CHECK(step.expected.high_rps > step.expected.rate_rps);
  CHECK(env.reset(2).expected.rate_rps == 0);
}
