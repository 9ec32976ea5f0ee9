#include "sim/statistics.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace wattle::sim;

TEST_CASE("the interval of a paired difference holds its mean and shrinks to it for a constant difference") {
  const std::vector<double> a{5, 7, 9, 4}, b{3, 5, 7, 2};
  const Interval same = paired_difference(a, b);
  CHECK(same.mean == doctest::Approx(2));
  CHECK(same.low == doctest::Approx(2));
  CHECK(same.high == doctest::Approx(2));
  CHECK(same.above_zero());
  const Interval none = paired_difference(a, a);
  CHECK_FALSE(none.above_zero());
  CHECK_FALSE(none.below_zero());
}

TEST_CASE("differences of both signs give an interval around zero") {
  const std::vector<double> a{1, -1, 2, -2, 1.5, -1.4}, b(6, 0.0);
  const Interval gap = paired_difference(a, b);
  CHECK(gap.low < 0);
  CHECK(gap.high > 0);
}

TEST_CASE("a paired ratio is relative to the second series") {
  const std::vector<double> a{90, 180}, b{100, 200};
  CHECK(paired_ratio(a, b).mean == doctest::Approx(-0.1));
}
