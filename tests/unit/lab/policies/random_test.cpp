// The judge without a real difference: a random policy is random, and equal to dice.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/policies/lab_policies.hpp"
#include "sim/env/evaluate.hpp"
#include "sim/env/statistics.hpp"

using namespace wattle;
using namespace wattle::sim;

TEST_CASE("a random policy scores as random") {
  EnvOptions options;
  options.scenario = find_scenario("thesis_test2").value();
  Env env(options);
  constexpr int kEpisodes = 12;
  double far = 0;
  std::array<double, 3> chosen{};
  for (std::uint64_t seed = 1; seed <= kEpisodes; ++seed) {
    EpisodeTrace trace;
    REQUIRE(run_episode(env, lab_contestant("random").value(), seed, &trace));
    for (std::size_t i = 1; i < trace.pods.size(); ++i)
      for (std::size_t n = 0; n < chosen.size(); ++n) chosen[n] += trace.pods[i][n] > trace.pods[i - 1][n] ? 1 : 0;
    double share = 0;
    for (const bool each : trace.near) share += each ? 1.0 / static_cast<double>(trace.near.size()) : 0;
    far += (1 - share) / kEpisodes;
  }
  // Two of three nodes are within the soft limit: a third of random choices is far, within four standard errors.
  CHECK(std::abs(far - 1.0 / 3) < 4 * std::sqrt(2.0 / 9 / (kEpisodes * 120.0)) + 0.02);
  // Each node is chosen as often as the others, within four standard errors. A choice is not observed if the oldest pod
  // left the same node.
  const double all = chosen[0] + chosen[1] + chosen[2];
  for (const double each : chosen) CHECK(std::abs(each / all - 1.0 / 3) < 4 * std::sqrt(2.0 / 9 / all));
}

TEST_CASE("the judge finds no difference between the random policy and dice, but one to a packer") {
  EnvOptions options;
  options.scenario = find_scenario("churn").value();
  options.scenario.placements = 100;
  const auto dice = [&](Env& env, std::uint64_t seed) {
    Random random(mix(seed, 99));
    env.begin(seed);
    while (!env.done()) {
      const auto view = env.view();
      std::vector<std::size_t> fit;
      for (std::size_t n = 0; n < view.nodes.size(); ++n)
        if (fits(env.world().kube_nodes()[n], kube_pod(env.waiting().spec.request))) fit.push_back(n);
      if (fit.empty())
        env.turn_away();
      else
        REQUIRE(env.bind(fit[pick(random, fit.size())], view));
    }
    return env.world().figures().energy_j;
  };
  std::vector<double> policy, dice_policy, packer;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Env env(options);
    policy.push_back(run_episode(env, lab_contestant("random").value(), seed)->energy_j);
    packer.push_back(run_episode(env, {"amortised", Binding::advised, "amortised"}, seed)->energy_j);
    dice_policy.push_back(dice(env, seed));
  }
  const Interval none = paired_ratio(policy, dice_policy), some = paired_ratio(packer, policy);
  CHECK(none.low < 0);
  CHECK(none.high > 0);
  CHECK(std::abs(none.mean) < 0.02);
  CHECK(some.high < 0);
}
