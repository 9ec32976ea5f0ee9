#include "sim/world/users.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sim/world/random.hpp"
#include "sim/world/world.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

ServerModel server(double cores) {
  ServerModel model;
  model.name = "a";
  model.cores = cores;
  model.watts.fill(100);
  return model;
}

SimPod replica(const std::string& name, const std::string& app, double share, double work_core_s) {
  SimPod pod;
  pod.spec.uid = name;
  pod.spec.app = app;
  pod.spec.request = {0.5, 1e8};
  pod.life_s = std::numeric_limits<double>::infinity();
  pod.serves_users = true;
  pod.request_share = share;
  pod.work_core_s = work_core_s;
  return pod;
}

WorldOptions asked(double per_s, std::size_t nodes) {
  WorldOptions options;
  options.requests.per_s = {per_s};
  for (std::size_t i = 0; i < nodes; ++i) options.nodes.push_back({server(4), 4, 0.6, 2});
  return options;
}

}  // namespace

TEST_CASE("an unlimited queue is M/M/1, one with a single place is Erlang's loss, and at load one it is half full") {
  const Queue endless = queue_of(50, 0.01, 4000);
  CHECK(endless.failed_ratio < 1e-12);
  CHECK(endless.response_s == doctest::Approx(1 / (100.0 - 50.0)));
  const Queue single = queue_of(300, 0.01, 1);
  CHECK(single.failed_ratio == doctest::Approx(3.0 / 4));
  CHECK(single.response_s == doctest::Approx(0.01));
  const Queue even = queue_of(100, 0.01, 9);
  CHECK(even.failed_ratio == doctest::Approx(0.1));
  CHECK(even.response_s * 100 * 0.9 == doctest::Approx(4.5));  // Little
  CHECK(queue_of(0, 0.01, 9).response_s == 0.01);
  CHECK(queue_of(0, 0.01, 9).failed_ratio == 0);
}

TEST_CASE("any queue answers no faster than its worker, waits and fails more with more load, and is deterministic") {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const double service_s = std::exp(uniform(random, -7, 0)), load = std::exp(uniform(random, -4, 4));
    const std::size_t room = 1 + pick(random, 100);
    CAPTURE(load);
    CAPTURE(room);
    const Queue queue = queue_of(load / service_s, service_s, room),
                more = queue_of(1.1 * load / service_s, service_s, room);
    const double answered_per_s = load / service_s * (1 - queue.failed_ratio);
    CHECK(std::isfinite(queue.response_s));
    CHECK(answered_per_s * service_s <= 1 + 1e-9);
    CHECK(queue.response_s >= service_s * (1 - 1e-9));
    CHECK(queue.response_s <= service_s * static_cast<double>(room) * (1 + 1e-9));
    CHECK(more.failed_ratio >= queue.failed_ratio);
    CHECK(more.response_s >= queue.response_s * (1 - 1e-9));
    // The worker's output is the admitted load: load x (1 - failed) = share of time that it is not idle.
    double idle = 0, weight = 1;
    for (std::size_t n = 0; n <= room; ++n, weight *= load) idle += weight;
    CHECK(load * (1 - queue.failed_ratio) == doctest::Approx(1 - 1 / idle).epsilon(1e-6));
  }
}

TEST_CASE("every request is answered or fails, by share and by replica, on crowded nodes too") {
  World world(asked(200, 2));
  REQUIRE(world.place(replica("a0", "a", 0.75, 0.004), 0, 1, {}));
  REQUIRE(world.place(replica("a1", "a", 0.75, 0.004), 1, 2, {}));
  REQUIRE(world.place(replica("b0", "b", 0.25, 0.5), 1, 3, {}));  // 25 cores' worth of work: nearly all of it fails
  world.advance_to(100);
  const WorldFigures figures = world.figures();
  CHECK(figures.requests + figures.failed_requests == doctest::Approx(100 * 200));
  // b's only worker does two requests a second, and no more.
  CHECK(figures.failed_requests == doctest::Approx(100 * (50 - 2)).epsilon(0.01));
  CHECK(world.wanted_cores(0) == doctest::Approx(75 * 0.004));
  CHECK(world.wanted_cores(1) == doctest::Approx(75 * 0.004 + 1));
}

TEST_CASE("crowded replicas answer later and fail more than spread ones; those on a failed node answer none") {
  const auto run = [](bool together, double to_s) {
    WorldOptions options = asked(500, 2);
    if (to_s > 60) options.trouble.outages.push_back({60, 90, 1});
    World world(options);
    for (std::size_t i = 0; i < 6; ++i)
      REQUIRE(world.place(replica("a" + std::to_string(i), "a", 1, 0.0085), together ? 0 : i % 2, i + 1, {}));
    world.advance_to(to_s);
    return world.figures();
  };
  const WorldFigures apart = run(false, 50), together = run(true, 50), gone = run(false, 90);
  CHECK(together.response_s / together.requests > 1.5 * apart.response_s / apart.requests);
  CHECK(together.failed_requests > apart.failed_requests);
  CHECK(apart.response_s / apart.requests > 0.0085 + 0.004);
  CHECK(gone.failed_requests >= 30 * 250);  // half of them, for half a minute
}
