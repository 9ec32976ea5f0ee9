#include "common/stats/bootstrap.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "common/stats/permutation.hpp"

using namespace wattle::stats;

TEST_CASE("the interval of a paired difference covers its mean and shrinks to it for a constant difference") {
  const std::vector<double> a{5, 7, 9, 4, 6}, b{3, 5, 7, 2, 4};
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

TEST_CASE("the inter-quartile mean drops a quarter at each end, fractionally if necessary") {
  const std::vector<double> eight{100, 1, 2, 3, 4, 5, 6, -50};
  CHECK(interquartile_mean(eight) == doctest::Approx(3.5 - 0.0));
  const std::vector<double> six{0, 10, 20, 30, 40, 1000};  // of six, one and a half are dropped at each end
  CHECK(interquartile_mean(six) == doctest::Approx((0.5 * 10 + 20 + 30 + 0.5 * 40) / 3));
  const std::vector<std::vector<double>> strata{{1, 1, 1}, {1, 1}};
  const Interval same = iqm_interval(strata);
  CHECK(same.low == doctest::Approx(1));
  CHECK(same.high == doctest::Approx(1));
}

TEST_CASE("equal signs have the probability of coin tosses, and mixed signs are not significant") {
  CHECK(sign_flip_p(std::vector<double>{1, 1, 1, 1, 1}) == doctest::Approx(2.0 / 32));
  CHECK(sign_flip_p(std::vector<double>{1, -1, 1, -1}) == doctest::Approx(1));
  CHECK(sign_flip_p(std::vector<double>{0, 0, 0}) == doctest::Approx(1));
  const std::vector<double> many(20, 0.01);
  CHECK(sign_flip_p(many) < 0.001);
  CHECK(sign_flip_p(many) == sign_flip_p(many));
}

TEST_CASE("Holm's correction multiplies by the number of remaining tests, never falls, and is at most one") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.01, 0.04, 0.03, 0.5});
  CHECK(adjusted[0] == doctest::Approx(0.04));
  CHECK(adjusted[2] == doctest::Approx(0.09));
  CHECK(adjusted[1] == doctest::Approx(0.09));
  CHECK(adjusted[3] == doctest::Approx(0.5));
  CHECK(holm(std::vector<double>{0.9, 0.8})[0] == 1);
  CHECK(holm(std::vector<double>{}).empty());
}

TEST_CASE("a ratio of inter-quartile means exists if single seeds are 0, and is absent if the reference is zero") {
  const std::vector<double> a{0, 9, 18, 27, 36, 45}, b{0, 10, 20, 30, 40, 50};
  const Interval ratio = iqm_ratio(a, b).value();
  CHECK(ratio.mean == doctest::Approx(-0.1));
  CHECK(ratio.low == doctest::Approx(-0.1));
  CHECK(ratio.high == doctest::Approx(-0.1));
  CHECK_FALSE(iqm_ratio(a, std::vector<double>(6, 0.0)));
  const std::vector<double> noisy{30, 1, 22, 14, 60, 38};
  CHECK(iqm_ratio(noisy, b)->low < iqm_ratio(noisy, b)->mean);
  CHECK(iqm_ratio(noisy, b)->high > iqm_ratio(noisy, b)->mean);
}
