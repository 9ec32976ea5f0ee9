// means: means, their intervals and the distributions behind them, compared with other formulas and their coverage.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "common/stats/distributions.hpp"
#include "common/stats/moments.hpp"
#include "common/stats/welch.hpp"

using namespace wattle::stats;

namespace {

Moments of(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.add(value);
  return moments;
}

// Student's density, integrated by Simpson's rule from 0.
double student_below(double t, double freedom) {
  const double scale =
      std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) / std::sqrt(freedom * std::numbers::pi);
  const auto density = [&](double x) { return scale * std::pow(1 + x * x / freedom, -(freedom + 1) / 2); };
  constexpr int kSteps = 2000;
  const double step = t / kSteps;
  double sum = density(0) + density(t);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * step);
  return 0.5 + sum * step / 3;
}

}  // namespace

TEST_CASE("moments are those of the two-pass formula, and distant values do not spoil the variance") {
  CHECK(rc::check([] {
    const auto drawn = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000));
    std::vector<double> values;
    for (const int draw : drawn) values.push_back(1e9 + draw);
    const Moments moments = of(values);
    RC_ASSERT(moments.count() == values.size());
    if (values.size() < 2) {
      RC_ASSERT(moments.variance() == 0);
      return;
    }
    double sum = 0, squares = 0;
    for (const int draw : drawn) sum += draw;
    const double mean = sum / static_cast<double>(drawn.size());
    for (const int draw : drawn) squares += (draw - mean) * (draw - mean);
    const double variance = squares / static_cast<double>(drawn.size() - 1);
    RC_ASSERT(std::abs(moments.mean() - 1e9 - mean) < 1e-3);
    RC_ASSERT(std::abs(moments.variance() - variance) <= 1e-6 * (1 + variance));
  }));
}

TEST_CASE("normal quantiles match the distribution function, and mirror each other") {
  CHECK(normal_quantile(0.95) == doctest::Approx(kNormal95).epsilon(1e-9));
  CHECK(normal_quantile(0.975) == doctest::Approx(kNormal975).epsilon(1e-9));
  for (const double p : {1e-6, 0.001, 0.02, 0.3, 0.5, 0.77, 0.999, 1 - 1e-6}) {
    const double x = normal_quantile(p);
    CHECK(0.5 * std::erfc(-x / std::numbers::sqrt2) == doctest::Approx(p).epsilon(1e-7));
    CHECK(normal_quantile(1 - p) == doctest::Approx(-x).epsilon(1e-6));
  }
}

TEST_CASE("Student's quantiles match the integrated density") {
  CHECK(student_quantile_975(1) == student_quantile_975(3));
  for (const double freedom : {3.0, 4.0, 6.5, 10.0, 20.0, 100.0})
    CHECK(student_below(student_quantile_975(freedom), freedom) == doctest::Approx(0.975).epsilon(0.0005));
  CHECK(student_quantile_975(1e9) == doctest::Approx(kNormal975).epsilon(1e-6));
}

TEST_CASE("Welch's interval: a textbook case, its mirror, and any unit") {
  // For equal sizes and variances the degrees of freedom are those of the pooled test.
  const std::vector<double> one{1, 2, 3, 4, 5}, two{3, 4, 5, 6, 7};
  CHECK(welch_freedom(of(one), of(two)) == doctest::Approx(8));
  const auto same = *welch_difference(of(one), of(two));
  CHECK(same.mean == doctest::Approx(-2));
  CHECK(same.high - same.low == doctest::Approx(2 * 2.306).epsilon(0.001));  // the error is 1, t of 8 is 2.306
  CHECK_FALSE(welch_difference(of({1}), of(two)));
  CHECK(rc::check([] {
    const auto draw = [] {
      std::vector<double> values;
      for (const int each : *rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-100, 100)))
        values.push_back(each);
      return values;
    };
    const std::vector<double> a = draw(), b = draw();
    const auto there = *welch_difference(of(a), of(b)), back = *welch_difference(of(b), of(a));
    RC_ASSERT(std::abs(there.low + back.high) < 1e-9);
    std::vector<double> a_times, b_times;
    for (const double value : a) a_times.push_back(4 * value + 8);
    for (const double value : b) b_times.push_back(4 * value + 8);
    const auto times = *welch_difference(of(a_times), of(b_times));
    RC_ASSERT(std::abs(times.low - 4 * there.low) < 1e-6);
    RC_ASSERT(std::abs(times.high - 4 * there.high) < 1e-6);
  }));
}

TEST_CASE("Welch's interval covers the difference in 95 of 100 samples, for any ratio of variances") {
  std::mt19937_64 random(9);
  std::normal_distribution<double> narrow(1, 0.1), wide(0, 2);
  int held = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    Moments a, b;
    for (int i = 0; i < 20; ++i) a.add(narrow(random));
    for (int i = 0; i < 6; ++i) b.add(wide(random));
    const auto interval = *welch_difference(a, b);
    held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  CHECK(held >= 0.935 * kRuns);
  CHECK(held <= 0.965 * kRuns);
}
