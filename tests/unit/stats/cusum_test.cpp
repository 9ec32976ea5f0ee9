// cusum: the largest sum of the last scores, with the rate of alarms that theory gives.
#include "common/stats/cusum.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <random>
#include <vector>

using namespace wattle::stats;

TEST_CASE("the level is the largest sum of scores above slack over any run of the last ones, or zero") {
  CHECK(rc::check([](const std::vector<int>& draws) {
    Cusum cusum(0.5, 1e9);
    std::vector<double> scores;
    for (const int draw : draws) {
      scores.push_back(draw % 100 / 8.0);  // sums are exact
      cusum.add(scores.back());
      double sum = 0, largest = 0;
      for (std::size_t i = scores.size(); i-- > 0;) largest = std::max(largest, sum += scores[i] - 0.5);
      RC_ASSERT(cusum.level() == largest);
    }
  }));
}

TEST_CASE("two sides treat a score and its mirror alike") {
  CHECK(rc::check([](const std::vector<int>& draws) {
    TwoSidedCusum one(0.5, 20), mirrored(0.5, 20);
    for (const int draw : draws) {
      const double score = draw % 100 / 8.0;
      RC_ASSERT(one.add(score) == mirrored.add(-score));
      RC_ASSERT(one.level() == mirrored.level());
    }
  }));
}

// Siegmund 1985: the mean run to an alarm is (exp(-2 d b) + 2 d b - 1) / (2 d^2), with d = drift - slack and b = limit + 1.166.
double siegmund(double drift, double slack, double limit) {
  const double d = drift - slack, b = limit + 1.166;
  return (std::exp(-2 * d * b) + 2 * d * b - 1) / (2 * d * d);
}

TEST_CASE("normal scores alarm as often as Siegmund's formula says, with and without a change") {
  std::mt19937_64 random(5);
  for (const double drift : {0.0, 1.0, 2.0}) {
    std::normal_distribution<double> score(drift, 1);
    constexpr int kRuns = 400;
    double taken = 0;
    for (int run = 0; run < kRuns; ++run) {
      Cusum cusum(0.5, 4);
      do taken += 1;
      while (!cusum.add(score(random)));
    }
    // A run's spread is about its mean: five standard errors, plus the error of the formula.
    CHECK(taken / kRuns == doctest::Approx(siegmund(drift, 0.5, 4)).epsilon(0.25));
  }
}

TEST_CASE("a saved level continues, and a reset is zero") {
  Cusum whole(0.5, 10), first(0.5, 10);
  for (int i = 0; i < 6; ++i) whole.add(1);
  for (int i = 0; i < 3; ++i) first.add(1);
  Cusum second(0.5, 10, first.level());
  for (int i = 0; i < 3; ++i) second.add(1);
  CHECK(second.level() == whole.level());
  second.restart();
  CHECK(second.level() == 0);
  CHECK(second.limit() == 10);
}
