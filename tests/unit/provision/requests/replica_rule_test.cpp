// replica_rule: suggested replicas: enough for the forecast, raised at once, lowered after half an hour, never below
// the owner's number.
#include "provision/requests/replica_rule.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace wattle::placement;

namespace {

// Requests take 10 ms of CPU time; a replica requests half a core, so it answers 35/s at 70% of it.
struct ReplicaMinutes {
  ReplicaRule rule;
  double now_s = 1e9;
  std::size_t replicas = 4, least = 1;
  void add(double rate_rps, int minutes = 1, std::optional<double> late_ratio = {}) {
    for (int i = 0; i < minutes; ++i)
      rule.add({rate_rps, 0.01 * rate_rps, 0.5, replicas, least, late_ratio}, now_s += 60);
  }
};

}  // namespace

TEST_CASE("a steady rate needs its upper range divided by a replica's rate at 70% of its request") {
  ReplicaMinutes world;
  world.add(100, 9);
  CHECK_FALSE(world.rule.next());  // too little is known
  world.add(100, 300);
  const auto next = world.rule.next();
  REQUIRE(next);
  CHECK(next->core_s_per_request == doctest::Approx(0.01));
  CHECK(next->replica_rps == doctest::Approx(35));
  CHECK(next->replicas == static_cast<std::size_t>(std::ceil(next->expected.high_rps / next->replica_rps)));
  CHECK(next->replicas == 3);
  CHECK(world.rule.score().minutes > 300);
}

TEST_CASE("more requests raise the replicas at once, fewer lower them only after half an hour") {
  ReplicaMinutes world;
  world.add(100, 300);
  world.add(300, 3);
  const auto up = world.rule.next();
  REQUIRE(up);
  CHECK(up->replicas >= 9);
  world.add(100, 25);
  CHECK(world.rule.next()->replicas >= 9);
  world.add(100, 120);
  CHECK(world.rule.next()->replicas <= 4);
}

TEST_CASE("fewer replicas are suggested only after half an hour, and never below the owner's number") {
  ReplicaMinutes world;
  world.replicas = 8;
  world.add(100, 20);
  REQUIRE(world.rule.next());
  CHECK(world.rule.next()->replicas == 8);
  world.add(100, 300);
  CHECK(world.rule.next()->replicas == 3);
  world.least = 5;
  world.add(100);
  CHECK(world.rule.next()->replicas == 5);
  world.least = 0;
  world.add(0, 300);
  CHECK(world.rule.next()->replicas == 1);
}

TEST_CASE("needs from before a long gap do not count in the last half hour") {
  ReplicaMinutes world;
  world.add(100, 300);
  REQUIRE(world.rule.next()->replicas == 3);
  world.now_s += 5 * 3600;
  world.replicas = 8;
  world.add(100, 20);
  REQUIRE(world.rule.next());
  CHECK(world.rule.next()->replicas == 8);
  world.add(100, 30);
  CHECK(world.rule.next()->replicas == 3);
}

TEST_CASE("late requests lower the aim if replicas were enough, and requests in time raise it again") {
  ReplicaMinutes world;
  world.add(100, 100);
  CHECK(world.rule.next()->aim_ratio == 0.7);
  world.add(100, 1, 0.01);
  CHECK(world.rule.next()->aim_ratio == doctest::Approx(0.665));
  world.add(100, 100, 0.01);
  CHECK(world.rule.next()->aim_ratio ==
        doctest::Approx(0.5).epsilon(0.06));  // 100/s of 10 ms need two of its two cores: fewer than enough
  world.replicas = 20;
  world.add(100, 100, 0.01);
  CHECK(world.rule.next()->aim_ratio == 0.35);  // and no lower: they may be late for other reasons
  CHECK(world.rule.next()->replicas >= 6);
  world.add(100, 5);
  CHECK(world.rule.next()->aim_ratio == 0.35);  // not reported
  world.add(100, 100, 0.002);
  CHECK(world.rule.next()->aim_ratio == 0.7);
}

TEST_CASE("invalid minutes, or minutes without service, are ignored; a silent rate suggests nothing") {
  ReplicaMinutes world;
  world.add(100, 100);
  const auto before = world.rule.next();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ReplicaMinute& minute :
       {ReplicaMinute{nan, 1, 0.5, 1}, ReplicaMinute{-1, 1, 0.5, 1}, ReplicaMinute{100, nan, 0.5, 1},
        ReplicaMinute{100, 1, -1, 1}, ReplicaMinute{100, 1, 0.5, 0}, ReplicaMinute{100, 1, 0.5, 1, 1, nan}})
    world.rule.add(minute, world.now_s + 60);
  CHECK(world.rule.next()->replicas == before->replicas);
  world.rule.silent();
  CHECK_FALSE(world.rule.next());
  CHECK_FALSE(world.rule.rate_rps());
  world.add(0, 1);
  CHECK(world.rule.next());  // without requests: at least one is needed, and earlier needs stay for a while
  world.rule.add({100, 1, 0, 1}, world.now_s += 60);
  CHECK_FALSE(world.rule.next());  // it requests nothing, so a replica's rate is unknown
}

TEST_CASE("a minute of unknown usage is forecast, and not learned from") {
  ReplicaMinutes world;
  for (int i = 0; i < 100; ++i) world.rule.add({100, {}, 0.5, 4}, world.now_s += 60);
  CHECK(world.rule.rate_rps() == 100);
  CHECK_FALSE(world.rule.next());
  world.add(100, 10);
  REQUIRE(world.rule.next());
  world.rule.add({100, {}, 0.5, 4}, world.now_s += 60);
  CHECK(world.rule.next()->core_s_per_request == doctest::Approx(0.01));
}

TEST_CASE("for any input, a suggestion is at least one, at least the owner's number, and within bounds") {
  CHECK(rc::check([](const std::vector<std::pair<unsigned, unsigned>>& minutes) {
    ReplicaRule rule;
    double now_s = 1e9;
    for (const auto& [rate, used] : minutes) {
      const std::size_t least = used % 7;
      for (int i = 0; i < 4; ++i)
        rule.add({rate % 100'000 * 1.0, used % 1000 * 0.01, 0.25, 3, least, rate % 11 * 0.001}, now_s += 60);
      if (const auto next = rule.next())
        RC_ASSERT(next->replicas >= std::max<std::size_t>(1, least) && next->replicas <= 10'000);
    }
  }));
}
