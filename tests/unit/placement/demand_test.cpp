// demand: predictions for an application, and the evidence that they need.
#include "placement/cluster/demand.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace wattle::placement {
namespace {

constexpr Resources kOneCore{1, 1e9};
AppKey app(int n) { return {"deployment/app-" + std::to_string(n), "image-" + std::to_string(n), ""}; }

TEST_CASE("an application without history uses half of its request, and has the prior's lifetime") {
  const DemandModel model;
  CHECK(model.predict(app(1), {4, 0}).cores == doctest::Approx(2));
  CHECK(model.predict(app(1), {0, 0}).cores == doctest::Approx(0.05));  // no request counts as a tenth of a core
  CHECK(model.predict(app(1), {4, 0}).life_s == doctest::Approx(3600));
  CHECK(model.expected_demand(5).empty());
}

TEST_CASE("one pod moves the prediction by a third (prior weight two) at each level") {
  DemandModel model;
  CHECK(model.observe(app(1), kOneCore, 0.2, 3600));
  // all: (0.2 + 2 x 0.5) / 3 = 0.4; image: (0.2 + 0.8) / 3; application: (0.2 + 2/3) / 3
  CHECK(model.predict(app(2), kOneCore).cores == doctest::Approx(0.4));
  CHECK(model.predict(app(1), kOneCore).cores == doctest::Approx((0.2 + 2.0 / 3) / 3));
}

TEST_CASE("predictions converge to the application's mean and scale with the request") {
  DemandModel model;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.05);
  for (int k = 0; k < 60; ++k)
    for (int a = 0; a < 6; ++a) model.observe(app(a), kOneCore, std::max(0.0, 0.1 + 0.15 * a + noise(random)), 3600);
  for (int a = 0; a < 6; ++a) {
    CHECK(model.predict(app(a), kOneCore).cores == doctest::Approx(0.1 + 0.15 * a).epsilon(0.08));
    CHECK(model.predict(app(a), {2, 0}).cores == doctest::Approx(2 * model.predict(app(a), kOneCore).cores));
  }
  // An unknown application of a known image gets the image's prediction, not the global one.
  const AppKey sibling{"deployment/other", "image-5", ""};
  CHECK(model.predict(sibling, kOneCore).cores > 0.7);
  const std::vector<double> quantiles = model.expected_demand(12);
  CHECK(std::is_sorted(quantiles.begin(), quantiles.end()));
  CHECK(quantiles.front() == doctest::Approx(0.1).epsilon(0.15));
  CHECK(quantiles.back() == doctest::Approx(0.85).epsilon(0.05));
}

TEST_CASE("an application without history may use one request more; with more pods its mean is more certain") {
  DemandModel model;
  CHECK(model.predict(app(1), kOneCore).uncertain_cores == doctest::Approx(1));
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.1);
  double before = 1;
  for (int pods = 0; pods < 5; ++pods) {
    for (int k = 0; k < 1 << pods; ++k) model.observe(app(1), kOneCore, std::max(0.0, 0.7 + noise(random)), 3600);
    const DemandPrediction one = model.predict(app(1), kOneCore), four = model.predict(app(1), {4, 0});
    CHECK(one.uncertain_cores < before);
    CHECK(one.uncertain_cores <= one.sd_cores);
    CHECK(four.uncertain_cores == doctest::Approx(4 * one.uncertain_cores));
    CHECK(model.predict(app(2), kOneCore).uncertain_cores > one.uncertain_cores);  // less is known about it
    before = one.uncertain_cores;
  }
  CHECK(before < 0.1);
}

TEST_CASE("one outlier moves a known application little, and a changed one is learned again") {
  DemandModel model;
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 0.02);
  for (int k = 0; k < 100; ++k) model.observe(app(1), kOneCore, 0.3 + noise(random), 3600);
  const double before = model.predict(app(1), kOneCore).cores;
  model.observe(app(1), kOneCore, 900, 3600);
  CHECK(std::abs(model.predict(app(1), kOneCore).cores - before) < 0.01);
  for (int k = 0; k < 600; ++k) model.observe(app(1), kOneCore, 0.8 + noise(random), 3600);
  CHECK(model.predict(app(1), kOneCore).cores == doctest::Approx(0.8).epsilon(0.1));
}

TEST_CASE("invalid readings are ignored; memory is bounded and the oldest application is dropped first") {
  DemandOptions options;
  options.max_apps = 3;
  DemandModel model(options);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(model.observe(app(1), kOneCore, nan, 60));
  CHECK_FALSE(model.observe(app(1), kOneCore, -1, 60));
  CHECK_FALSE(model.observe(app(1), kOneCore, 1, 0));
  CHECK_FALSE(model.observe_life(app(1), nan, true));
  CHECK(model.apps() == 0);
  for (int a = 0; a < 100; ++a) {
    model.observe(app(0), kOneCore, 0.9, 3600);
    model.observe(app(a), kOneCore, 0.1, 60);
    CHECK(model.apps() <= 3);
  }
  CHECK(model.predict(app(0), kOneCore).seen_pods > 50);
  CHECK(model.predict(app(50), kOneCore).seen_pods == 0);
  CHECK(model.predict(app(99), kOneCore).seen_pods > 0);
}

TEST_CASE("the lifetime is run time divided by ended pods, so that running pods count too") {
  DemandModel model;
  for (int k = 0; k < 100; ++k) {
    model.observe_life(app(1), 600, true);
    model.observe_life(app(2), 600, k % 2 == 0);
  }
  CHECK(model.predict(app(1), kOneCore).life_s == doctest::Approx(600).epsilon(0.05));
  CHECK(model.predict(app(2), kOneCore).life_s == doctest::Approx(1200).epsilon(0.05));
}

TEST_CASE("a copy is independent: its learning and forgetting do not affect the original") {
  DemandOptions options;
  options.max_apps = 3;
  DemandModel model(options);
  for (int a = 0; a < 3; ++a) model.observe(app(a), kOneCore, 0.1 * (a + 1), 3600);
  DemandModel copy = model;
  for (int a = 3; a < 20; ++a) copy.observe(app(a), kOneCore, 0.9, 3600);  // replaces all three
  CHECK(copy.predict(app(0), kOneCore).seen_pods == 0);
  for (int a = 0; a < 3; ++a) CHECK(model.predict(app(a), kOneCore).seen_pods == 1);
  model.observe(app(0), kOneCore, 0.1, 3600);
  model.observe(app(4), kOneCore, 0.1, 3600);  // drops the oldest of the original's own
  CHECK(model.predict(app(1), kOneCore).seen_pods == 0);
  CHECK(model.predict(app(0), kOneCore).seen_pods == 2);
  copy = model;
  CHECK(copy.predict(app(0), kOneCore).cores == model.predict(app(0), kOneCore).cores);
}

}  // namespace
}  // namespace wattle::placement
