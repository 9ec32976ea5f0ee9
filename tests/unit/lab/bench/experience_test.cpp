// experience: each part of the worlds where experience matters has its intended effect.
#include "sim/scenarios/experience.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/bench/live_run.hpp"
#include "sim/cluster/kernel.hpp"
#include "tests/unit/sim/paired_world.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

using namespace wattle;
using namespace wattle::sim;
using namespace wattle::sim::cluster;
using namespace wattle::sim::consolidation;

namespace {

constexpr auto kDisk = static_cast<std::size_t>(Resource::disk), kCache = static_cast<std::size_t>(Resource::cache);

// Application 0 uses much of `resource` and suffers from its lack; application 1 does neither.
std::shared_ptr<const Pairs> one_heavy_user(std::size_t resource) {
  Pairs pairs(2);
  pairs.share(0.125);  // 2 for a machine of 16 cores
  ResourceUse heavy;
  heavy.uses[resource] = 1;
  heavy.suffers[resource] = 0.5;
  pairs.use(0, heavy);
  return std::make_shared<const Pairs>(std::move(pairs));
}

consolidation::Options small_world(const char* name) {
  consolidation::Options options;
  options.experience = experience_named(name).value();
  options.crowded = options.experience.crowding;
  options.side = Side::train;
  options.cluster_model = ClusterModel::production;
  options.churn = options.sleep = true;
  options.nodes = 4;
  options.warm_s = 0;
  options.measure_s = 8 * 3600;
  options.churn_fill = 0.85;
  options.cluster_seed = 7;
  return options;
}

RunFigures played(const consolidation::Options& options) {
  return run_live(make_episode(data(), options, 7), nullptr, contestant_named("node-order").value(), {}).value();
}

SimPod heavy_pod(std::size_t number) {
  SimPod pod = pod_of_app(0, 1);
  pod.spec.uid += "-" + std::to_string(number);
  return pod;
}

}  // namespace

TEST_CASE("a shared resource slows pods above its capacity by the excess usage of others, and lifetimes stretch") {
  Observer none;
  Kernel<double> kernel({machine_of(two_machines().nodes[0].server)}, {}, one_heavy_user(kCache));
  kernel.disturb(none);
  for (PodId pod = 0; pod < 3; ++pod) kernel.place(pod, 0, 1, 100, none, 0);
  CHECK(kernel.speed(0, 0) == 1);  // two others use the whole capacity
  kernel.place(3, 0, 1, 100, none, 0);
  kernel.place(4, 0, 1, 100, none, 1);
  CHECK(kernel.speed(0, 0) == doctest::Approx(1 / 1.25));  // three others: an excess of half, half of it felt
  CHECK(kernel.speed(0, 4) == 1);
  kernel.advance_to(101, none);
  CHECK(kernel.node(0).pods.size() == 4);
  kernel.advance_to(126, none);
  CHECK(kernel.node(0).pods.empty());
}

TEST_CASE("a slowdown is more than the sum of pairs: two applications do not slow each other, three do") {
  const auto pairs = one_heavy_user(kCache);
  ByResource others{};
  for (std::size_t count = 0; count < 6; ++count, others[kCache] += 1)
    CHECK(pairs->slowdown(0, others, 16).real ==
          doctest::Approx(1 + 0.5 * std::max(0.0, static_cast<double>(count) / 2 - 1)));
}

TEST_CASE("pressure shows waiting for disk, but not a lack of cache") {
  for (const std::size_t resource : {kDisk, kCache}) {
    CAPTURE(resource);
    WorldOptions options = two_machines();
    options.pairs = one_heavy_user(resource);
    ReportedPods seen;
    World world(options, &seen);
    for (std::size_t k = 0; k < 5; ++k) REQUIRE(world.place(heavy_pod(k), 0, k, {}));
    world.advance_to(100);
    const double waits = 1 - 1 / 1.5;
    CHECK(seen.uses.at(0).waited == doctest::Approx(resource == kDisk ? waits : 0));
    CHECK(world.view({}).nodes[0].values.pressure.cpu_some_ratio.value() ==
          doctest::Approx(resource == kDisk ? waits : 0));
    CHECK(seen.uses.at(0).cores == doctest::Approx(1));
    const WorldFigures figures = world.figures();  // the truth includes both
    CHECK(figures.work_core_s == doctest::Approx(figures.used_core_s / 1.5));
    CHECK(figures.pressure_pod_s == doctest::Approx(waits * figures.pod_s));
  }
}

TEST_CASE("a rack meter: the nodes' watts add up to its reading, and follow the datasheets, right or wrong") {
  CHECK(rc::check([] {
    const double load = 1 + static_cast<double>(*rc::gen::inRange(0, 14));
    const std::vector<double> times{1, 0.25 * static_cast<double>(*rc::gen::inRange(1, 9))};
    WorldOptions options = two_machines();
    options.datasheet_times = times;
    World world(options);
    RC_ASSERT(world.place(pod_of_app(0, load), 0, 0, {}).has_value());
    world.advance_to(60);
    const double before_j = world.figures().energy_j;
    world.advance_to(65.9);
    const auto& nodes = world.view({}).nodes;
    const double sum_w = *nodes[0].power_w + *nodes[1].power_w;
    const double real_w = (world.figures().energy_j - before_j) / 5.9;
    RC_ASSERT(std::abs(sum_w - real_w) < 1e-6 * real_w);
    const double first_w = 100 + 160 * load / 16, second_w = 100 * times[1];
    RC_ASSERT(std::abs(*nodes[0].power_w / *nodes[1].power_w - first_w / second_w) < 1e-6);
  }));
}

TEST_CASE("half of the datasheets are wrong, in both directions, and the same on every day of a cluster") {
  const std::vector<double> times = datasheet_times(10, 3);
  CHECK(times == datasheet_times(10, 3));
  CHECK(std::count(times.begin(), times.end(), 1.0) == 5);
  CHECK(std::any_of(times.begin(), times.end(), [](double each) { return each < 1; }));
  CHECK(std::any_of(times.begin(), times.end(), [](double each) { return each > 1; }));
}

TEST_CASE("the wave has a period of a day, its own phase on each node, and a mean of one over arrivals") {
  CHECK(rc::check([] {
    const double at_s = static_cast<double>(*rc::gen::inRange(0, 1'000'000));
    RC_ASSERT(std::abs(arrivals_at(at_s) - arrivals_at(at_s + kWave_s)) < 1e-6);
    RC_ASSERT(std::abs(arrivals_at(at_s) + arrivals_at(at_s + kWave_s / 2) - 2) < 1e-6);
    RC_ASSERT(std::abs(latency_ms_at(2, at_s, 5) - latency_ms_at(2, at_s + kWave_s, 5)) < 1e-6);
    RC_ASSERT(latency_ms_at(2, at_s, 5) > 0);
  }));
  CHECK(latency_ms_at(0, 0, 5) != latency_ms_at(1, 0, 5));
  const auto shifts = latency_wave(3, 86'400, 5);
  CHECK(shifts.size() == 3 * 95);
  CHECK(shifts[4].latency_ms == latency_ms_at(shifts[4].node, shifts[4].at_s, 5));
  consolidation::Options options = small_world("wave");
  options.measure_s = 86'400;
  std::size_t day = 0, night = 0;
  for (const Pod& pod : make_episode(data(), options, 7).pods) ++(pod.arrives_s < kWave_s / 2 ? day : night);
  CHECK(day > 1.5 * static_cast<double>(night));
}

TEST_CASE("worlds: each part has its effect in a run, and none if it is absent") {
  const RunFigures plain = played(small_world("plain"));
  CHECK(plain.life_stretch == 1);
  CHECK(plain.waiting < 0.01);
  CHECK(played(small_world("interference")).life_stretch > 1.002);
  CHECK(played(small_world("crowded")).waiting > plain.waiting + 0.0005);
  const auto late = [](const RunFigures& run) {
    double late_s = 0, all_s = 0;
    for (const WaitedTime& hour : run.hours) {
      late_s += hour.late_pod_s;
      all_s += hour.limited_pod_s;
    }
    return std::pair(late_s, all_s);
  };
  CHECK(late(plain).second == 0);
  const auto [late_s, limited_s] = late(played(small_world("wave")));
  CHECK(late_s > 0);
  CHECK(late_s < limited_s);
  const RunFigures combined = played(small_world("combined"));
  CHECK(combined.life_stretch > 1.002);
  CHECK(late(combined).second > 0);
  CHECK(experience_named("crowd").error().fix.find("combined") != std::string::npos);
}
