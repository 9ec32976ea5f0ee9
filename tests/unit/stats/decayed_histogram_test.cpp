// decayed_histogram: old weights fade in proportion, total weight is kept, and quantiles rise with the share.
#include "common/stats/decayed_histogram.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace wattle::stats;

namespace {

constexpr double kHour_s = 3600;

template <class Law>
void holds(const char* name, Law law) {
  CHECK_MESSAGE(rc::check(name, law), name);
}

}  // namespace

TEST_CASE("a quantile is the end of its bucket: never below the value, and at most 5% above it") {
  for (const double value : {0.02, 0.5, 3.0, 64.0}) {
    DecayedHistogram histogram;
    histogram.add(value, 1, 0);
    CHECK(histogram.quantile(0.5) >= value);
    CHECK(histogram.quantile(0.5) <= value * 1.05 + 0.01);
  }
  CHECK(DecayedHistogram().quantile(0.9) == 0);
  CHECK(DecayedHistogram().empty());
}

TEST_CASE("weights halve each half-life, for any distance of times") {
  DecayedHistogram histogram({.half_life_s = kHour_s});
  histogram.add(1, 8, 0);
  CHECK(histogram.total(0) == doctest::Approx(8));
  CHECK(histogram.total(kHour_s) == doctest::Approx(4));
  histogram.add(4, 1, 3 * kHour_s);  // both have the same weight now
  CHECK(histogram.total(3 * kHour_s) == doctest::Approx(2));
  CHECK(histogram.quantile(0.49) < 1.1);
  CHECK(histogram.quantile(0.51) > 3.9);
  histogram.add(0.5, 1e-9, 1'700'000'000);  // Unix time: the others have no weight left
  CHECK(histogram.total(1'700'000'000) == doctest::Approx(1e-9));
  CHECK(histogram.quantile(1) < 0.6);
}

TEST_CASE("values that are not numbers are ignored") {
  DecayedHistogram histogram;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const double odd : {nan, infinity, -1.0}) {
    CHECK(histogram.add(odd, 1, 0) == (odd == infinity));  // the largest bucket
    CHECK_FALSE(histogram.add(1, odd, 0));
  }
  CHECK_FALSE(histogram.add(1, 1, infinity));
  CHECK_FALSE(histogram.add(1, 1, nan));
  CHECK(histogram.total(0) == 1);
  CHECK_FALSE(histogram.restore(0, std::vector<double>(3)));
  std::vector<double> weights(histogram.weights().size());
  CHECK_FALSE(histogram.restore(nan, weights));
  weights[2] = -1;
  CHECK_FALSE(histogram.restore(0, weights));
  CHECK(histogram.total(0) == 1);
}

TEST_CASE("laws of weights and quantiles") {
  holds("all that was added is there, as it faded", [] {
    DecayedHistogram histogram({.half_life_s = kHour_s});
    double expected = 0;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200'000));
    const double end_s = 400'000;
    for (const int step : steps) {
      const double at_s = step * 2.0, weight = 1 + step % 7;
      histogram.add(step % 11, weight, at_s);
      expected += weight * std::exp2((at_s - end_s) / kHour_s);
    }
    RC_ASSERT(std::abs(histogram.total(end_s) - expected) <= 1e-9 * (expected + 1e-300));
    const auto weights = histogram.weights();
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    RC_ASSERT(std::abs(sum * std::exp2((histogram.as_of_s() - end_s) / kHour_s) - expected) <=
              1e-9 * expected + 1e-300);
  });
  holds("quantiles rise with the share and with the values, and a copy that was kept says the same", [] {
    DecayedHistogram low, high;
    const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5000)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      low.add(values[i] * 0.001, 1, 60.0 * static_cast<double>(i));
      high.add(values[i] * 0.001 * 1.5, 1, 60.0 * static_cast<double>(i));
    }
    DecayedHistogram kept;
    RC_ASSERT(kept.restore(low.as_of_s(), low.weights()));
    double last = 0;
    for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
      RC_ASSERT(low.quantile(share) >= last);
      RC_ASSERT(high.quantile(share) >= low.quantile(share));
      last = low.quantile(share);
      RC_ASSERT(std::abs(kept.quantile(share) - last) <= 0.06 * last + 0.011);  // one bucket, because of rounded sums
    }
  });
}
