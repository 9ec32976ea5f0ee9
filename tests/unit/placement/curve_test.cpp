// curve: properties of a fitted power curve for any readings.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "placement/cluster/power_curve.hpp"

namespace wattle::placement {
namespace {

// A server that differs from the prior's mean.
constexpr std::array<double, kCurvePoints> kServer = {90, 130, 150, 165, 180, 195, 215, 240, 270, 310, 350};

double read_many(PowerCurve& curve, const PowerCurve& truth, int readings, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  std::uniform_real_distribution<double> load(0, 1);
  for (int i = 0; i < readings; ++i) {
    const double u = load(random);
    curve.observe(u, truth.watts(u) * (1 + noise(random)));
  }
  double worst = 0;
  for (std::size_t i = 0; i < kCurvePoints; ++i)
    worst = std::max(worst, std::abs(curve.points()[i] - truth.points()[i]) / truth.max_w());
  return worst;
}

bool lawful(const PowerCurve& curve) {
  double last = 0;
  for (const double point_w : curve.points()) {
    if (!std::isfinite(point_w) || point_w < last) return false;
    last = point_w;
  }
  return true;
}

TEST_CASE("a curve converges on noisy readings and relearns a changed server") {
  const PowerCurve truth = PowerCurve::known(kServer);
  PowerCurve curve = PowerCurve::prior(32);
  CHECK(read_many(curve, truth, 10, 1) < 0.12);
  CHECK(read_many(curve, truth, 200, 2) < 0.06);
  std::array<double, kCurvePoints> doubled = kServer;
  for (double& point_w : doubled) point_w *= 1.6;
  CHECK(read_many(curve, PowerCurve::known(doubled), 100, 3) < 0.08);
}

TEST_CASE("a curve ignores invalid readings and never falls") {
  PowerCurve curve;
  const auto before = curve.points();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(curve.observe(nan, 100));
  CHECK_FALSE(curve.observe(0.5, INFINITY));
  CHECK_FALSE(curve.observe(-0.1, 100));
  CHECK_FALSE(curve.observe(1.1, 100));
  CHECK_FALSE(curve.observe(0.5, 20'001));
  CHECK_FALSE(curve.observe(0.5, -1));
  CHECK(curve.points() == before);
  CHECK(curve.samples() == 0);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> any(0, 1);
  for (int i = 0; i < 2000; ++i) {
    CHECK(curve.observe(any(random), 20'000 * any(random)));
    REQUIRE(lawful(curve));
  }
}

TEST_CASE("the error of a curve shrinks with readings, is smaller for differences, and is zero for a fixed curve") {
  PowerCurve curve = PowerCurve::prior(16);
  const double at_first = curve.watts_sd_w(0.5), apart = curve.difference_sd_w(0.1, 0.9);
  CHECK(at_first > 0);
  CHECK(curve.difference_sd_w(0.5, 0.5) == 0);
  CHECK(apart < curve.watts_sd_w(0.9) + curve.watts_sd_w(0.1));
  for (int i = 0; i < 100; ++i) curve.observe(0.1 * (i % 11), 100 + 10.0 * (i % 11));
  CHECK(curve.watts_sd_w(0.5) < at_first / 4);
  CHECK(curve.difference_sd_w(0.1, 0.9) < apart / 4);
  CHECK(PowerCurve::known({}).watts_sd_w(0.5) == 0);
}

TEST_CASE("a known curve is exact and takes no samples; marginal watts add up and continue beyond full load") {
  PowerCurve curve = PowerCurve::known(kServer);
  CHECK_FALSE(curve.observe(0.5, 10));
  CHECK(curve.watts(0.25) == doctest::Approx(157.5));
  CHECK(curve.idle_w() == 90);
  CHECK(curve.max_w() == 350);
  CHECK(curve.marginal_w(0.2, 0.1) == doctest::Approx(15));
  CHECK(curve.marginal_w(1.0, 0.1) == doctest::Approx(40));
  CHECK(curve.residual_sd_w() == 0);
}

}  // namespace
}  // namespace wattle::placement
