// bucket_counts: a histogram in Prometheus' form.
#include "common/stats/bucket_counts.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <vector>

using namespace wattle;

TEST_CASE("a value counts in each bucket whose bound it does not exceed") {
  constexpr std::array kBounds{1.0, 2.0, 5.0};
  stats::BucketCounts<3> counts(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 5.0, 6.0}) counts.add(value);
  counts.add(std::numeric_limits<double>::quiet_NaN());
  CHECK(counts.up_to(0) == 2);
  CHECK(counts.up_to(1) == 3);
  CHECK(counts.up_to(2) == 4);
  CHECK(counts.count() == 5);
  CHECK(counts.sum() == 14);
}

TEST_CASE("buckets ascend to the count of all values") {
  CHECK(rc::check([] {
    constexpr std::array kBounds{-10.0, 0.0, 3.0, 100.0};
    stats::BucketCounts<4> counts(kBounds);
    const auto values = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000));
    for (const int value : values) counts.add(value);
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      RC_ASSERT(counts.up_to(i) >= before);
      before = counts.up_to(i);
      const auto wanted = std::count_if(values.begin(), values.end(), [&](int value) { return value <= kBounds[i]; });
      RC_ASSERT(static_cast<std::int64_t>(before) == wanted);
    }
    RC_ASSERT(counts.count() == values.size());
  }));
}
