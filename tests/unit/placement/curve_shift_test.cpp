// curve_shift: the power curve of a changed server is learned in a few readings, and noise changes nothing.
#include "placement/cluster/power_curve.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace wattle::placement {
namespace {

constexpr std::array<double, kCurvePoints> kShiftedServer = {90, 130, 150, 165, 180, 195, 215, 240, 270, 310, 350};

TEST_CASE("readings of an unchanged server start no new fit, for any server") {
  std::mt19937_64 random(14);
  std::normal_distribution<double> noise(0, 0.01);
  std::uniform_real_distribution<double> load(0, 1), size(0.6, 1.6), bend(0.5, 2);
  for (int server = 0; server < 30; ++server) {
    std::array<double, kCurvePoints> watts{};
    const double idle_w = 60 * size(random), span_w = 250 * size(random), power = bend(random);
    for (std::size_t k = 0; k < kCurvePoints; ++k)
      watts[k] = idle_w + span_w * std::pow(static_cast<double>(k) / 10, power);
    const PowerCurve truth = PowerCurve::known(watts);
    PowerCurve curve = PowerCurve::prior(32);
    for (int i = 0; i < 50; ++i) {
      const double u = load(random);
      curve.observe(u, truth.watts(u) * (1 + noise(random)));
    }
    const std::uint64_t before = curve.shifts();
    for (int i = 0; i < 5000; ++i) {
      const double u = load(random);
      curve.observe(u, truth.watts(u) * (1 + noise(random)));
    }
    CHECK(curve.shifts() == before);
  }
}

TEST_CASE("a server that draws 1.8 times as much from now on is learned within eight readings") {
  std::mt19937_64 random(15);
  std::normal_distribution<double> noise(0, 0.01);
  std::uniform_real_distribution<double> load(0.2, 0.6);
  PowerCurve curve = PowerCurve::prior(32);
  const PowerCurve before = PowerCurve::known(kShiftedServer);
  for (int i = 0; i < 500; ++i) {
    const double u = load(random);
    curve.observe(u, before.watts(u) * (1 + noise(random)));
  }
  std::array<double, kCurvePoints> more = kShiftedServer;
  for (double& watts : more) watts *= 1.8;
  const PowerCurve after = PowerCurve::known(more);
  for (int i = 0; i < 8; ++i) {
    const double u = load(random);
    curve.observe(u, after.watts(u) * (1 + noise(random)));
  }
  CHECK(curve.shifts() >= 1);
  for (const double u : {0.2, 0.4, 0.6}) CHECK(curve.watts(u) == doctest::Approx(after.watts(u)).epsilon(0.05));
}

TEST_CASE("a single outlier starts no new fit") {
  PowerCurve curve = PowerCurve::prior(32);
  const PowerCurve truth = PowerCurve::known(kShiftedServer);
  for (int i = 0; i < 200; ++i) curve.observe(0.01 * (i % 100), truth.watts(0.01 * (i % 100)));
  const double known_w = curve.watts(0.5);
  const std::uint64_t before = curve.shifts();
  curve.observe(0.5, 2000);
  CHECK(curve.shifts() == before);
  CHECK(curve.watts(0.5) == doctest::Approx(known_w).epsilon(0.05));
}

}  // namespace
}  // namespace wattle::placement
