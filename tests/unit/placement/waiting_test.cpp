// waiting: properties of the model of waiting for any readings.
#include "placement/cluster/waiting.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace wattle::placement {
namespace {

struct Reading {
  double utilisation = 0, waiting = 0;
};

// Waiting on a server whose tenants start to wait at the share `from` of its cores.
double truth(double utilisation, double from) { return std::clamp((utilisation - from) / (1.25 - from), 0.0, 1.0); }

std::vector<Reading> readings_of(double from, int count, std::uint64_t seed, double noise = 0.01) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> load(0, 1);
  std::normal_distribution<double> off(0, noise);
  std::vector<Reading> readings;
  for (int i = 0; i < count; ++i) {
    const double u = load(random);
    readings.push_back({u, std::clamp(truth(u, from) + off(random), 0.0, 1.0)});
  }
  return readings;
}

WaitingModel learned(const std::vector<Reading>& readings) {
  WaitingModel model;
  for (const Reading& each : readings) model.observe(each.utilisation, each.waiting);
  return model;
}

double worst(const WaitingModel& model, double from) {
  double most = 0;
  for (double u = 0; u <= 1; u += 0.05)
    most = std::max(most, std::abs(model.curve().wait(16 * u, 0, 16) - truth(u, from)));
  return most;
}

WaitingModel any_model() {
  WaitingModel model;
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i)
    model.observe(*rc::gen::inRange(0, 101) / 100.0, *rc::gen::inRange(0, 101) / 100.0);
  return model;
}

TEST_CASE("waiting is a share, never falls with mean or variance, and vanishes with unlimited cores") {
  CHECK(rc::check("invariants of waiting", [] {
    const WaitingCurve curve = any_model().curve();
    const double cores = *rc::gen::inRange(1, 200), mean = *rc::gen::inRange(0, 3000) / 10.0,
                 variance = *rc::gen::inRange(0, 3000) / 10.0, more = *rc::gen::inRange(0, 500) / 10.0;
    const double here = curve.wait(mean, variance, cores);
    RC_ASSERT(here >= 0);
    RC_ASSERT(here <= 1);
    RC_ASSERT(curve.wait(mean + more, variance, cores) >= here - 1e-12);
    RC_ASSERT(curve.wait(mean, variance + more, cores) >= here - 1e-12);
    RC_ASSERT(curve.wait(mean, variance, cores + more) <= here + 1e-12);
    RC_ASSERT(curve.wait(mean, variance, 1e9) < 1e-6);
    RC_ASSERT(curve.waiting_cores(mean + more, variance + more, cores) >=
              curve.waiting_cores(mean, variance, cores) - 1e-9);
  }));
}

TEST_CASE("for any query and any readings, waiting is a number between 0 and 1") {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> odd = {0, -1, 1, 1e308, -1e308, kInf, -kInf, kNan, 1e-308};
  WaitingModel model = learned(readings_of(0.5, 50, 1));
  for (const double a : odd)
    for (const double b : odd) {
      const bool taken = model.observe(a, b);
      CHECK(taken == (a >= 0 && a <= 1 && b >= 0 && b <= 1));
      for (const double c : odd) {
        const double wait = model.curve().wait(a, b, c);
        CHECK_MESSAGE((wait >= 0 && wait <= 1), a, " ", b, " ", c);
        CHECK(std::isfinite(model.curve().waiting_cores(a, b, c)));
      }
    }
  CHECK(std::isfinite(model.residual_sd()));
}

TEST_CASE("the model converges on noisy readings, wherever tenants begin to wait") {
  for (const double from : {0.4, 0.55, 0.7, 1.0}) {
    const WaitingModel model = learned(readings_of(from, 300, 2));
    CHECK_MESSAGE(worst(model, from) < 0.06, from);
    CHECK(model.residual_sd() < 0.05);
  }
}

TEST_CASE("a node with few readings is like the fleet, and a different one is learned") {
  const WaitingModel fleet = learned(readings_of(0.4, 500, 3));
  WaitingModel node;
  node.observe(0.45, truth(0.45, 0.4), fleet.curve());
  CHECK(node.curve().wait(12.8, 0, 16) == doctest::Approx(truth(0.8, 0.4)).epsilon(0.15));
  for (const Reading& each : readings_of(0.7, 200, 4)) node.observe(each.utilisation, each.waiting, fleet.curve());
  CHECK(worst(node, 0.7) < 0.08);
}

TEST_CASE("readings that contradict the model are learned fast") {
  WaitingModel model = learned(readings_of(0.7, 4000, 5));
  for (const Reading& each : readings_of(0.4, 120, 6)) model.observe(each.utilisation, each.waiting);
  CHECK(worst(model, 0.4) < 0.1);
}

TEST_CASE("the order of readings of one interval does not matter") {
  std::vector<Reading> readings = readings_of(0.5, 60, 7);
  const WaitingModel one = learned(readings);
  std::reverse(readings.begin(), readings.end());
  const WaitingModel other = learned(readings);
  for (double u = 0; u <= 1.2; u += 0.1)
    CHECK(one.curve().wait(16 * u, 2, 16) == doctest::Approx(other.curve().wait(16 * u, 2, 16)).epsilon(0.02));
}

TEST_CASE("bursts cost: the same mean with more variance waits more, and an even load below the knee does not wait") {
  const WaitingModel model = learned(readings_of(0.6, 500, 8));
  const double even = model.curve().wait(8, 0, 16), bursty = model.curve().wait(8, 9, 16);
  CHECK(even < 0.02);
  CHECK(bursty > even + 0.02);
}

TEST_CASE("a model survives packing, and truncated or foreign bytes are refused") {
  const WaitingModel model = learned(readings_of(0.5, 100, 9));
  PackWriter out;
  model.pack(out);
  const std::string bytes = out.take();
  PackReader in(bytes);
  const WaitingModel read = WaitingModel::unpack(in);
  CHECK(in.done());
  CHECK(read.curve() == model.curve());
  CHECK(read.samples() == model.samples());
  PackWriter again;
  read.pack(again);
  CHECK(again.take() == bytes);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 8) {
    PackReader part(std::string_view(bytes).substr(0, cut));
    WaitingModel::unpack(part);
    CHECK_FALSE(part.ok());
  }
}

TEST_CASE("waiting comes from pressure, otherwise from the run queue, otherwise it is unknown") {
  NodeView node;
  NodeValues& values = node.values;
  CHECK_FALSE(waiting_ratio(node).has_value());
  values.kernel.run_queue_us = 100;
  CHECK_FALSE(waiting_ratio(node).has_value());
  values.kernel.on_cpu_us = 300;
  CHECK(waiting_ratio(node) == std::optional(0.25));
  CHECK_FALSE(stalled_ratio(node).has_value());
  values.pressure.cpu_some_ratio = 0.1;
  CHECK(waiting_ratio(node) == std::optional(0.1));
  CHECK(stalled_ratio(node) == std::optional(0.1));
}

TEST_CASE("a pod's waiting comes from its own pressure, minus the time at its limit; otherwise it is unknown") {
  WorkloadValues pod;
  CHECK_FALSE(stalled_ratio(pod, 0.3, 1).has_value());
  pod.pressure.cpu_some_ratio = 0.9;
  CHECK(stalled_ratio(pod, 0.3, 1) == std::optional(0.9));
  pod.cpu_throttled_us = 1'400'000;
  CHECK(stalled_ratio(pod, 0.3, 2).value() == doctest::Approx(0.2));
  CHECK_FALSE(stalled_ratio(pod, 0.3, 0).has_value());
  pod.pressure.cpu_some_ratio = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(stalled_ratio(pod, 0.3, 1).has_value());
}

TEST_CASE("a pod at its own limit does not wait, whichever way waiting is reported") {
  NodeView node;
  NodeValues& values = node.values;
  // Only one thread that always wants to run, limited to 0.3 cores.
  values.cpu_used_cores = 0.3;
  node.throttled_cores = 0.7;
  values.pressure.cpu_some_ratio = 0.7;
  CHECK(waiting_ratio(node).value() == doctest::Approx(0));
  CHECK(stalled_ratio(node).value() == doctest::Approx(0));
  // The waiting of other tasks remains.
  values.pressure.cpu_some_ratio = 0.9;
  CHECK(waiting_ratio(node).value() == doctest::Approx(0.2));
  values.pressure.cpu_some_ratio.reset();
  values.kernel.on_cpu_us = 300'000;
  values.kernel.run_queue_us = 800'000;  // 700'000 of them throttled
  CHECK(waiting_ratio(node).value() == doctest::Approx(100'000 / 1.1e6));
  node.throttled_cores = 2;
  CHECK(waiting_ratio(node).value() == 0);
  // Invalid values subtract nothing.
  node.throttled_cores = std::numeric_limits<double>::quiet_NaN();
  values.pressure.cpu_some_ratio = 0.5;
  CHECK(waiting_ratio(node).value() == 0.5);
}

}  // namespace
}  // namespace wattle::placement
