// histogram: a percentile is the exact one, rounded up by at most one step; values out of range count at the edge.
#include "common/stats/histogram.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "common/stats/quantile.hpp"

using namespace wattle::stats;

TEST_CASE("a percentile is that of the values, and at most one step above it") {
  CHECK(rc::check([] {
    const auto raw = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1'000'000'000)));
    const double share = *rc::gen::inRange(1, 1001) / 1000.0;
    std::vector<double> values(raw.begin(), raw.end());
    Histogram coarse;
    FineHistogram fine;
    for (double& value : values) {
      value /= 1000;
      coarse.add(value, 1);
      fine.add(value, 1);
    }
    // Doubles that sum to share x total may miss it by a bit: the neighbours of that rank are also valid.
    const double least = *quantile(values, share - 1e-9), most = *quantile(values, share + 1e-9);
    RC_ASSERT(fine.quantile(share) >= least * (1 - 1e-9));
    RC_ASSERT(fine.quantile(share) <= most * 1.01 * (1 + 1e-9));
    RC_ASSERT(coarse.quantile(share) >= least * (1 - 1e-9));
    RC_ASSERT(coarse.quantile(share) <= most * 1.05 * (1 + 1e-9));
    RC_ASSERT(fine.total() == static_cast<double>(values.size()));
  }));
}

TEST_CASE("values out of range count at the edge, and an empty histogram has no percentile") {
  FineHistogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  histogram.add(0, 1);
  CHECK(histogram.quantile(0.5) == doctest::Approx(1.01e-3));
  histogram.add(1e12, 3);
  CHECK(histogram.quantile(0.5) >= 1e7);
  CHECK(histogram.total() == 4);
}
