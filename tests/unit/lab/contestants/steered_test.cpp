// Steered services: the rule equals the contestant, and replicas and memory are accounted for, under any choice.
#include "sim/provision/steered.hpp"

#include <doctest/doctest.h>

#include "lab/contestants/contestants.hpp"
#include "sim/provision/steering.hpp"

using namespace wattle;
using namespace wattle::sim::provision;

namespace {

WorldOptions steered_world(double rate_rps, std::size_t seconds) {
  WorldOptions options;
  options.trace = std::make_shared<const RateTrace>(RateTrace{"flat", std::vector<double>(seconds, rate_rps)});
  options.warm_s = 120;
  return options;
}

Figures steered(const WorldOptions& world, Steering& steering, const SteerOptions& options = {}) {
  Steered services(world, options, steering);
  const auto figures = play(World(world), services);
  REQUIRE(figures);
  return *figures;
}

class Fixed final : public Steering {
 public:
  explicit Fixed(models::provision::Setting setting) : setting_(setting) {}
  models::provision::Setting minute(std::size_t, const MinuteOfService& seen) override {
    costs += seen.cost;
    last = seen;
    return setting_;
  }
  double costs = 0;
  MinuteOfService last;

 private:
  models::provision::Setting setting_;
};

}  // namespace

TEST_CASE("services steered by the rule equal the contestant `wattle`, to the last write") {
  for (const std::size_t services : {1U, 2U}) {
    WorldOptions world = steered_world(100, 300);
    world.services = services;
    RuleSteering rule;
    const Figures ours = steered(world, rule);
    const auto contestant = find_contestant("wattle")->prepare(world, 0.003)(1);
    const auto theirs = play(World(world), *contestant);
    REQUIRE(theirs);
    CHECK(ours.granted_cores == theirs->granted_cores);
    CHECK(ours.requests_over == theirs->requests_over);
    CHECK(ours.writes_per_minute == theirs->writes_per_minute);
  }
}

TEST_CASE("an untrained network costs what the rule costs, except for rungs") {
  const WorldOptions world = steered_world(150, 900);
  SteerOptions options;
  RuleSteering rule;
  NetworkSteering untrained(nullptr, false);
  const double by_rule = cost_of(steered(world, rule, options), options.price).cost;
  CHECK(cost_of(steered(world, untrained, options), options.price).cost == doctest::Approx(by_rule).epsilon(0.05));
}

TEST_CASE("replicas share the requests, each has its own limit, and a removed one finishes its requests") {
  WorldOptions world = steered_world(150, 600);
  world.most_replicas = 3;
  Fixed one({0.3, 0.15, 1}), three({0.3, 0.15, 3});
  const Figures few = steered(world, one), many = steered(world, three);
  CHECK(few.replicas == doctest::Approx(1).epsilon(0.001));
  CHECK(many.replicas == doctest::Approx(3).epsilon(0.001));
  CHECK(many.requests == few.requests);
  CHECK(many.used_cores == doctest::Approx(few.used_cores).epsilon(0.01));
  CHECK(many.granted_cores > few.granted_cores);

  World shrinking(world);
  shrinking.shape(0, {3, std::nullopt});
  while (!shrinking.done()) {
    if (shrinking.now_s() > 300) shrinking.shape(0, {1, std::nullopt});
    shrinking.advance();
  }
  CHECK(shrinking.figures().requests == few.requests);
  CHECK(shrinking.figures().minutes_over == 0);
  CHECK(shrinking.figures().replicas < 2);
}

TEST_CASE("memory grows with the rate, granted memory is counted, and missing memory adds work") {
  WorldOptions world = steered_world(100, 1200);
  world.memory_gib = 0.5;
  world.memory_gib_per_rps = 0.005;
  Fixed enough({0.3, 0.15, 1}), too_little({0.3, -0.15, 1});
  const Figures well = steered(world, enough), badly = steered(world, too_little);
  CHECK(well.memory_gib == doctest::Approx(1.15).epsilon(0.15));
  CHECK(badly.memory_gib < well.memory_gib);
  CHECK(badly.used_cores > 1.1 * well.used_cores);
  CHECK(too_little.last.state.missed_ratio > 0);
  CHECK(enough.last.state.missed_ratio == doctest::Approx(0));
}

TEST_CASE("the costs of minutes add up to the cost of the run") {
  WorldOptions world = steered_world(120, 1200);
  world.memory_gib = 0.25;
  SteerOptions options;
  Fixed fixed({0.2, 0.15, 1});
  const double judged = cost_of(steered(world, fixed, options), options.price).cost;
  CHECK(fixed.costs / 22 == doctest::Approx(judged).epsilon(0.05));
}
