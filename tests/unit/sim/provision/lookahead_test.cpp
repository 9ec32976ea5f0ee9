// Lookahead: that trying actions leaves the world as it was, and what is told of them.
#include "sim/provision/lookahead.hpp"

#include <doctest/doctest.h>

#include "sim/provision/steering.hpp"

using namespace wattle;
using namespace wattle::sim::provision;
namespace choice = wattle::models::provision;

namespace {

WorldOptions small_world(double rate_rps, std::size_t services = 1) {
  WorldOptions world;
  world.trace = std::make_shared<const RateTrace>(RateTrace{"flat", std::vector<double>(600, rate_rps)});
  world.warm_s = 120;
  world.services = services;
  world.most_replicas = 2;
  world.memory_gib = 0.25;
  world.memory_gib_per_rps = 0.002;
  world.seed = 3;
  return world;
}

std::size_t by_the_prior(const MinuteOfService& seen) {
  return choice::best_action(ask_teacher(seen).observation, nullptr);
}

struct Tries {
  std::vector<ActionCosts> costs;
  std::vector<MinuteOfService> seen;
};

Tries tries_of(const WorldOptions& world, const LookaheadOptions& look) {
  Tries tries;
  const auto figures =
      play_looking_ahead(world, {}, look, [&](std::size_t, const MinuteOfService& seen, const ActionCosts& costs) {
        tries.costs.push_back(costs);
        tries.seen.push_back(seen);
        return by_the_prior(seen);
      });
  REQUIRE(figures);
  return tries;
}

constexpr std::size_t kMemoryUp = choice::action_of(choice::Lever::memory, 1),
                      kReplicaUp = choice::action_of(choice::Lever::replicas, 1);

}  // namespace

TEST_CASE("who tries all actions first meets the same world as who does not") {
  for (const std::size_t services : {std::size_t{1}, std::size_t{2}}) {
    const WorldOptions world = small_world(60, services);
    for (const std::size_t futures : {std::size_t{0}, std::size_t{2}}) {
      const LookaheadOptions look{2, futures, 1};
      const auto looking = play_looking_ahead(
          world, {}, look,
          [](std::size_t, const MinuteOfService& seen, const ActionCosts&) { return by_the_prior(seen); });
      NetworkSteering prior(nullptr, false);
      Steered services_of_world(world, {}, prior);
      const auto plain = play(World(world), services_of_world);
      REQUIRE(looking);
      REQUIRE(plain);
      CHECK(looking->granted_cores == plain->granted_cores);
      CHECK(looking->memory_gib == plain->memory_gib);
      CHECK(looking->requests == plain->requests);
      CHECK(looking->requests_over == plain->requests_over);
      CHECK(looking->writes_per_minute == plain->writes_per_minute);
    }
  }
}

TEST_CASE("a lookahead tells of what can be done, again the same, and that more of what is not needed costs more") {
  const Tries tries = tries_of(small_world(60), {3, 0, 0});
  REQUIRE(tries.costs.size() == 12);
  for (std::size_t minute = 0; minute + 1 < tries.costs.size(); ++minute) {
    const ActionCosts& costs = tries.costs[minute];
    for (std::size_t action = 0; action < choice::kActions; ++action)
      CHECK(costs[action].has_value() ==
            choice::valid(action, tries.seen[minute].state.now, tries.seen[minute].bounds));
    REQUIRE(costs[kReplicaUp]);
    CHECK(*costs[kReplicaUp] > *costs[choice::kKeep]);
    CHECK(*costs[cheapest(costs)] <= *costs[choice::kKeep]);
    if (minute < 9) continue;  // memory is granted over the most of ten minutes
    REQUIRE(costs[kMemoryUp]);
    CHECK(*costs[kMemoryUp] > *costs[choice::kKeep]);
  }
  // Nothing follows the last minute.
  CHECK_FALSE(tries.costs.back()[choice::kKeep]);
  CHECK(cheapest(tries.costs.back()) == choice::kKeep);
  CHECK(tries_of(small_world(60), {3, 0, 0}).costs == tries.costs);
}

TEST_CASE("requests that are drawn anew cost other than those that come, and are the same again") {
  const Tries come = tries_of(small_world(60), {3, 0, 0}), drawn = tries_of(small_world(60), {3, 1, 0});
  CHECK(come.costs.front() != drawn.costs.front());
  CHECK(tries_of(small_world(60), {3, 1, 0}).costs == drawn.costs);
}

TEST_CASE("a minute over the target costs what is asked for it on top, whatever is done about it") {
  WorldOptions world = small_world(60);
  world.target_s = 1e-4;  // no request is as quick
  const Tries free = tries_of(world, {2, 0, 0}), priced = tries_of(world, {2, 0, 7});
  for (std::size_t action = 0; action < choice::kActions; ++action) {
    if (!free.costs.front()[action]) continue;
    CHECK(*priced.costs.front()[action] == doctest::Approx(*free.costs.front()[action] + 7));
  }
}
