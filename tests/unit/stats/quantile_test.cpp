// quantile: a quantile is one of the values, and at least its share of values is not above it.
#include "common/stats/quantile.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

using namespace wattle::stats;

TEST_CASE("an empty set has no quantile, and known values have known ones") {
  CHECK_FALSE(quantile({}, 0.5));
  CHECK_FALSE(quantile_of_sorted({}, 0.5));
  // Wikipedia's example of nearest ranks.
  const std::vector<double> five{15, 20, 35, 40, 50};
  CHECK(quantile_of_sorted(five, 0.05) == 15);
  CHECK(quantile_of_sorted(five, 0.3) == 20);
  CHECK(quantile_of_sorted(five, 0.4) == 20);
  CHECK(quantile_of_sorted(five, 0.5) == 35);
  CHECK(quantile_of_sorted(five, 1) == 50);
}

TEST_CASE("at least the share is not above it, and less than the share is below it") {
  CHECK(rc::check([] {
    const auto drawn = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50)));
    const double share = *rc::gen::inRange(0, 101) / 100.0;
    const std::vector<double> values(drawn.begin(), drawn.end());
    const double found = *quantile(values, share);
    const auto n = static_cast<double>(values.size());
    const auto at_most = std::count_if(values.begin(), values.end(), [&](double value) { return value <= found; });
    const auto below = std::count_if(values.begin(), values.end(), [&](double value) { return value < found; });
    RC_ASSERT(static_cast<double>(at_most) >= share * n - 1e-9);
    RC_ASSERT(below == 0 || static_cast<double>(below) < share * n + 1e-9);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    RC_ASSERT(quantile_of_sorted(sorted, share) == found);
  }));
}

TEST_CASE("a monotonic map of the values maps the quantile") {
  CHECK(rc::check([] {
    const auto drawn = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50)));
    const double share = *rc::gen::inRange(0, 101) / 100.0;
    std::vector<double> values(drawn.begin(), drawn.end()), mapped;
    for (const double value : values) mapped.push_back(std::exp(value / 10));
    RC_ASSERT(*quantile(mapped, share) == std::exp(*quantile(values, share) / 10));
  }));
}
