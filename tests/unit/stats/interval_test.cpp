// interval: a range and a verdict need five independent seeds; intervals of shares and of the next day.
#include "common/stats/interval.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/stats/bootstrap.hpp"
#include "common/stats/permutation.hpp"
#include "common/stats/share.hpp"
#include "common/stats/to_come.hpp"

using namespace wattle::stats;

TEST_CASE("below five values every estimator gives its estimate without a range or a sign; from five on a range") {
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

TEST_CASE("the interval of a share solves its score equation, and is within [0, 1] at 0%, 100% and without trials") {
  for (const auto& counts : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 1}, {10, 12}, {29, 33}, {54, 54}}) {
    const std::size_t held = counts.first, trials = counts.second;
    CAPTURE(held);
    CAPTURE(trials);
    const auto n = static_cast<double>(trials);
    const Interval share = share_interval(held, trials);
    CHECK(share.mean == doctest::Approx(static_cast<double>(held) / n));
    CHECK(share.low >= -1e-12);
    CHECK(share.high <= 1 + 1e-12);
    CHECK(share.low < share.high);
    // Each bound is the probability from which the observed share is 1.96 standard errors away.
    for (const double bound : {share.low, share.high})
      CHECK((share.mean - bound) * (share.mean - bound) * n ==
            doctest::Approx(kNormal975 * kNormal975 * bound * (1 - bound)).epsilon(1e-9));
  }
  const Interval none = share_interval(0, 0);
  CHECK(none.low == 0);
  CHECK(none.high == 1);
}

TEST_CASE("the interval of the next day has at least twice the variance, and more after a longer past") {
  const Interval past{-0.1, -0.13, -0.08};
  for (const auto& [past_s, times] : {std::pair(60.0, 2.0), std::pair(86'400.0, 2.0), std::pair(3 * 86'400.0, 4.0)}) {
    const Interval to = to_come(past, past_s);
    CHECK(to.mean == -0.1);
    CHECK((to.low - to.mean) * (to.low - to.mean) == doctest::Approx(times * 0.03 * 0.03));
    CHECK((to.high - to.mean) * (to.high - to.mean) == doctest::Approx(times * 0.02 * 0.02));
  }
  CHECK_FALSE(to_come(without_range(0.2), 60).known());
}
