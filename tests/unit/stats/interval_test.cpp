// A range and a verdict need five independent seeds.
#include "common/stats/interval.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "common/stats/bootstrap.hpp"
#include "common/stats/permutation.hpp"

using namespace wattle::stats;

TEST_CASE("below five values every estimator gives its estimate without a range, and no sign; from five on a range") {
  for (std::size_t n = 1; n <= 8; ++n) {
    CAPTURE(n);
    std::vector<double> less, more;
    for (std::size_t i = 0; i < n; ++i) {
      less.push_back(1 + 0.01 * static_cast<double>(i));
      more.push_back(2);
    }
    const std::vector<std::vector<double>> strata{less};
    const auto ratio = iqm_ratio(less, more);
    REQUIRE(ratio);
    for (const Interval& each :
         {paired_difference(less, more), paired_ratio(less, more), iqm_interval(strata), *ratio}) {
      CHECK(std::isfinite(each.mean));
      CHECK(each.known() == (n >= 5));
      if (n >= 5) continue;
      CHECK_FALSE(each.below_zero());
      CHECK_FALSE(each.above_zero());
    }
    CHECK(paired_difference(less, more).below_zero() == (n >= 5));
    std::vector<double> differences;
    for (std::size_t i = 0; i < n; ++i) differences.push_back(less[i] - more[i]);
    if (n < 5) CHECK(sign_flip_p(differences) == 1);
  }
}

TEST_CASE("the text of an interval has its range, or how many seeds one needs") {
  CHECK(interval_text({-0.0123, -0.02, 0.004}, {.decimals = 1, .scale = 100, .sign = true, .unit = "%"}) ==
        "-1.2% [-2.0, +0.4]");
  CHECK(interval_text(without_range(0.5), {}) == "0.50 [needs 5 seeds]");
  CHECK(seeds_note(5, "--seeds").empty());
  CHECK(seeds_note(1, "--seeds") ==
        "no interval and no verdict: 1 seed, and at least 5 independent ones are needed (--seeds 5)\n");
}
