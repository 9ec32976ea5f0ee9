// pairs: applications that disturb each other, in the kernel, in a World's reports, and in episodes of consolidation.
#include "sim/cluster/pairs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "lab/bench/live_run.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/cluster/kernel.hpp"
#include "sim/world/random.hpp"
#include "tests/unit/sim/paired_world.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

using namespace wattle;
using namespace wattle::sim;
using namespace wattle::sim::cluster;

namespace {

Machine machine_of_cores(double cores) {
  Machine machine;
  machine.cores = cores;
  for (std::size_t i = 0; i < kWattPoints; ++i) machine.watts[i] = 100 + 16 * static_cast<double>(i);
  return machine;
}

template <class Time>
Time after_s(double s) {
  if constexpr (std::is_same_v<Time, double>)
    return s;
  else
    return MonoTime(from_seconds(s));
}
double plain_s(double at) { return at; }
double plain_s(MonoTime at) { return seconds(at.time_since_epoch()); }

// The work of each pod, and its end.
template <class Time>
struct Done final : Observer {
  const Kernel<Time>* kernel = nullptr;
  std::map<PodId, double> done_s, lived_s, ended_s;
  double work_core_s = 0;
  void ran(std::size_t node, double dt_s) override {
    const auto& each = kernel->node(node);
    work_core_s += each.work_cores * dt_s;
    for (std::size_t k = 0; k < each.pods.size(); ++k) {
      done_s[each.pods[k].id] += kernel->speed(node, k) * dt_s;
      lived_s[each.pods[k].id] += dt_s;
    }
  }
  void ended(PodId pod, std::size_t, std::size_t) override { ended_s[pod] = plain_s(kernel->now()); }
};

}  // namespace

TEST_CASE_TEMPLATE("pairs: a disturbed pod does the same work in more time, waits for the rest and keeps cores busy",
                   Time, double, MonoTime) {
  Done<Time> seen;
  Kernel<Time> kernel({machine_of_cores(16)}, {}, one_pair(0.5));
  seen.kernel = &kernel;
  kernel.disturb(seen);
  kernel.place(0, 0, 4, 100, seen, 0);
  kernel.advance_to(after_s<Time>(40), seen);
  CHECK(kernel.node(0).pressure_ratio == 0);
  kernel.place(1, 0, 2, 30, seen, 1);
  kernel.place(2, 0, 2, 1000, seen, 2);  // not disturbed by any
  const double third = 1.0 / 3;
  CHECK(kernel.waits(0, 0) == doctest::Approx(third));
  CHECK(kernel.waits(0, 1) == doctest::Approx(third));
  CHECK(kernel.waits(0, 2) == 0);
  CHECK(kernel.node(0).pressure_ratio == doctest::Approx(2 * third / 3));
  CHECK(kernel.node(0).used_cores == doctest::Approx(8));
  CHECK(kernel.node(0).work_cores == doctest::Approx(6));
  kernel.advance_to(after_s<Time>(2000), seen);
  CHECK(seen.ended_s.at(1) == doctest::Approx(40 + 45));
  CHECK(seen.ended_s.at(0) == doctest::Approx(100 + 15));  // a third of those 45 s
  CHECK(seen.ended_s.at(2) == doctest::Approx(1040));
  kernel.settle(seen);
  CHECK(seen.work_core_s == doctest::Approx(4 * 100 + 2 * 30 + 2 * 1000));
  CHECK(kernel.energy_j() == doctest::Approx(2000 * 100 + 10 * (4 * 115 + 2 * 45 + 2 * 1000)));
  CHECK(kernel.work_pod_s() == doctest::Approx(1130));
  CHECK(kernel.pod_s() == doctest::Approx(1160));
}

TEST_CASE("pairs: they may start in mid-run, the strongest counts, and an application may disturb itself") {
  Observer none;
  Pairs pairs(3);
  pairs.disturb(0, 1, 0.5);
  pairs.disturb(0, 2, 1);
  pairs.disturb(2, 2, 3);
  Kernel<double> kernel({machine_of_cores(16)}, {}, std::make_shared<const Pairs>(pairs));
  for (PodId pod = 0; pod < 3; ++pod) kernel.place(pod, 0, 1, 100, none, pod);
  kernel.advance_to(50, none);
  CHECK(kernel.speed(0, 0) == 1);
  kernel.disturb(none);
  CHECK(kernel.speed(0, 0) == doctest::Approx(0.5));
  CHECK(kernel.speed(0, 1) == doctest::Approx(1 / 1.5));
  CHECK(kernel.speed(0, 2) == doctest::Approx(0.5));
  kernel.place(3, 0, 1, 100, none, 2);
  CHECK(kernel.speed(0, 2) == doctest::Approx(0.25));
  CHECK(kernel.speed(0, 3) == doctest::Approx(0.25));
  kernel.remove(3, none);
  kernel.advance_to(124.9, none);
  CHECK(kernel.node(0).pods.size() == 3);
  kernel.advance_to(125.1, none);  // 50 s of work at 1 / 1.5
  CHECK(kernel.node(0).pods.size() == 2);
  kernel.fail(0, none);  // the node runs no pod
  CHECK(kernel.speed(0, 0) == 1);
  kernel.repair(0, none);
  CHECK(kernel.speed(0, 0) == doctest::Approx(0.5));
}

TEST_CASE("pairs: for any events, the integral of speed is the pod's lifetime, and both sides are slowed") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(mix(seed, 2));
    constexpr std::size_t kApps = 6;
    Pairs pairs(kApps);
    for (std::size_t a = 0; a < kApps; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (pick(random, 3) == 0) pairs.disturb(pick(random, 2) == 0 ? a : b, pick(random, 2) == 0 ? b : a, 0.5);
    for (std::size_t a = 0; a < kApps; ++a)
      for (std::size_t b = 0; b < kApps; ++b) CHECK(pairs.strength(a, b) == pairs.strength(b, a));
    Done<double> seen;
    Kernel<double> kernel({machine_of_cores(16), machine_of_cores(8), machine_of_cores(32)}, {seed % 2 == 0, 60, false},
                          std::make_shared<const Pairs>(pairs));
    seen.kernel = &kernel;
    std::map<PodId, double> lives_s;
    std::map<PodId, std::size_t> app_of;
    for (PodId pod = 0; pod < 200; ++pod) {
      if (pod == 50) kernel.disturb(seen);
      kernel.advance_to(kernel.now() + exponential(random, 20), seen);
      lives_s[pod] = uniform(random, 1, 400);
      app_of[pod] = pick(random, kApps);
      kernel.place(pod, pick(random, 3), uniform(random, 0, 2), lives_s[pod], seen, app_of[pod]);
      for (std::size_t i = 0; i < kernel.size(); ++i) {
        if (kernel.node(i).power != Power::awake || pod < 50) continue;
        const auto& pods = kernel.node(i).pods;
        for (std::size_t k = 0; k < pods.size(); ++k) {
          const bool partner = std::any_of(pods.begin(), pods.end(), [&](const auto& other) {
            return other.id != pods[k].id && pairs.strength(app_of[pods[k].id], app_of[other.id]) > 0;
          });
          CHECK(kernel.speed(i, k) == doctest::Approx(partner ? 1 / 1.5 : 1));
        }
      }
    }
    kernel.advance_to(1e6, seen);
    REQUIRE(seen.ended_s.size() == lives_s.size());
    double lived_s = 0, done_s = 0;
    for (const auto& [pod, life_s] : lives_s) {
      CHECK(seen.done_s.at(pod) == doctest::Approx(life_s).epsilon(1e-9));
      CHECK(seen.lived_s.at(pod) >= doctest::Approx(life_s));
      CHECK(seen.lived_s.at(pod) <= doctest::Approx(1.5 * life_s));
      lived_s += seen.lived_s.at(pod);
      done_s += life_s;
    }
    kernel.settle(seen);
    CHECK(kernel.pod_s() == doctest::Approx(lived_s));
    CHECK(kernel.work_pod_s() == doctest::Approx(done_s));
    CHECK(lived_s > 1.02 * done_s);
  }
}

TEST_CASE("pairs: if none meet, results are the same as without pairs, bit for bit") {
  const auto play = [](std::shared_ptr<const Pairs> pairs) {
    Done<double> seen;
    Kernel<double> kernel({machine_of_cores(16), machine_of_cores(4)}, {true, 60, false}, std::move(pairs));
    seen.kernel = &kernel;
    kernel.disturb(seen);
    Random random(7);
    for (PodId pod = 0; pod < 100; ++pod) {
      kernel.advance_to(kernel.now() + exponential(random, 20), seen);
      kernel.place(pod, pick(random, 2), uniform(random, 0, 2), uniform(random, 1, 400), seen, 2);
    }
    kernel.settle(seen);
    return std::tuple(kernel.energy_j(), kernel.pressure_pod_s(), kernel.pod_s(), kernel.work_pod_s(), seen.ended_s,
                      seen.work_core_s);
  };
  const auto without = play(nullptr), with = play(one_pair(0.5));
  CHECK(without == with);
  CHECK(std::get<2>(without) == std::get<3>(without));
}

TEST_CASE("pairs in a world: agents report the waiting of each pod and the load of the node, users their latency") {
  WorldOptions options = two_machines();
  options.pairs = one_pair(0.5);
  ReportedPods seen;
  World world(options, &seen);
  for (std::size_t app = 0; app < 3; ++app) {
    SimPod pod = pod_of_app(app, 2);
    if (app == 0) pod.spec.latency_soft_ms = 12;
    REQUIRE(world.place(pod, 0, app, {}));
  }
  world.advance_to(100);
  const WorldFigures begun = world.figures();
  world.advance_to(200);
  const double third = 1.0 / 3;
  CHECK(seen.uses.at(0).waited == doctest::Approx(third));
  CHECK(seen.uses.at(1).waited == doctest::Approx(third));
  CHECK(seen.uses.at(2).waited == doctest::Approx(0));
  CHECK(seen.uses.at(0).cores == doctest::Approx(2));
  const auto& node = world.view({}).nodes[0];
  CHECK(node.values.pressure.cpu_some_ratio.value() == doctest::Approx(2 * third / 3));
  CHECK(node.values.cpu_used_cores.value() == doctest::Approx(6));
  const WorldFigures end = world.figures();
  CHECK(end.used_core_s - begun.used_core_s == doctest::Approx(600));
  CHECK(end.work_core_s - begun.work_core_s == doctest::Approx(100 * (2 + 8 * third)));
  CHECK(end.late_pod_s - begun.late_pod_s == doctest::Approx(100));  // a third more than 10 ms
  CHECK(end.pressure_pod_s - begun.pressure_pod_s == doctest::Approx(200 * third));
  CHECK(end.work_pod_s - begun.work_pod_s == doctest::Approx(300 - 200 * third));
}

TEST_CASE("episodes with pairs: lifetimes stretch and work costs more energy") {
  consolidation::Options options;
  options.churn = options.sleep = true;
  options.cluster_model = consolidation::ClusterModel::production;
  options.nodes = 10;
  options.warm_s = 2 * 3600;
  options.measure_s = 4 * 3600;
  const auto played = [&](const char* name, double strength, std::uint64_t seed) {
    options.pairs = strength;
    const consolidation::Episode episode = make_episode(consolidation::data(), options, seed);
    return run_live(episode, nullptr, contestant_named(name).value(), {}).value();
  };
  const auto joules = [](const consolidation::RunFigures& run) { return run.energy_j / run.work_core_s; };
  double planner = 0, none = 0;
  for (const std::uint64_t seed : {1U, 2U}) {
    const auto by_plan = played("planner", 0.5, seed), alone = played("planner", 0, seed);
    CHECK(alone.life_stretch == 1);
    CHECK(by_plan.life_stretch > 1.05);
    CHECK(by_plan.waiting > alone.waiting);
    planner += joules(by_plan);
    none += joules(alone);
  }
  CHECK(none < planner);
}

TEST_CASE("pairs of the scenario are the same for all seeds, one in ten") {
  const Pairs pairs = consolidation::pairs_of(30, 0.5);
  std::size_t found = 0, free = 0;
  for (std::size_t a = 0; a < 30; ++a) {
    std::size_t partners = 0;
    for (std::size_t b = 0; b < 30; ++b) {
      CHECK(pairs.strength(a, b) == pairs.strength(b, a));
      CHECK((pairs.strength(a, b) == 0 || pairs.strength(a, b) == 0.5));
      if (pairs.strength(a, b) > 0) ++partners;
    }
    CHECK(pairs.strength(a, a) == 0);
    found += partners;
    if (partners == 0) ++free;
  }
  CHECK(found / 2 == 37);  // of 435
  CHECK(free == 1);
  // Those of a few applications are among those of many.
  const Pairs few = consolidation::pairs_of(10, 0.5);
  for (std::size_t a = 0; a < 10; ++a)
    for (std::size_t b = 0; b < 10; ++b) CHECK(few.strength(a, b) == pairs.strength(a, b));
}
