// arrivals: requests are due as the rates say, whatever their fate: as many as the trace has, in order, within its
// time.
#include "load/arrivals.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace wattle;
using namespace wattle::load;
using namespace std::chrono_literals;

namespace {
std::vector<Duration> all_of(Arrivals arrivals) {
  std::vector<Duration> out;
  while (const auto due = arrivals.next()) out.push_back(*due);
  return out;
}
}  // namespace

TEST_CASE("at a constant rate and even spacing one request is due in the middle of each interval") {
  const auto due = all_of(Arrivals::constant(4, 2s, Spacing::even, 1));
  REQUIRE(due.size() == 8);
  for (std::size_t i = 0; i < due.size(); ++i)
    CHECK(std::abs(seconds(due[i]) - (0.125 + 0.25 * static_cast<double>(i))) < 1e-6);
}

TEST_CASE("a trace gives the sum of its lines, second by second, at any speed and scale") {
  CHECK(rc::check([] {
    const auto counts = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 30)));
    const double speed = *rc::gen::elementOf(std::vector<double>{0.5, 1, 3, 10}),
                 factor = *rc::gen::elementOf(std::vector<double>{1, 2});
    RateTrace trace{"any", std::vector<double>(counts.begin(), counts.end())};
    scale(trace, factor);
    const auto due = all_of(Arrivals::of_trace(trace, speed, Spacing::even, 1));
    std::vector<double> of_second(counts.size());
    for (const Duration at : due) of_second.at(static_cast<std::size_t>(seconds(at) * speed + 1e-6)) += 1;
    RC_ASSERT(std::is_sorted(due.begin(), due.end()));
    for (std::size_t i = 0; i < of_second.size(); ++i) RC_ASSERT(of_second[i] == trace.rates_rps[i]);
  }));
}

TEST_CASE("random arrivals have the mean and the variance of a Poisson process, and are reproducible by seed") {
  const auto due = all_of(Arrivals::constant(100, 1000s, Spacing::poisson, 7));
  std::vector<double> of_second(1000);
  for (const Duration at : due) of_second.at(static_cast<std::size_t>(seconds(at))) += 1;
  const double mean = static_cast<double>(due.size()) / 1000;
  double variance = 0;
  for (const double count : of_second) variance += (count - mean) * (count - mean) / 999;
  CHECK(mean == doctest::Approx(100).epsilon(0.02));      // five standard errors are 1.6%
  CHECK(variance == doctest::Approx(100).epsilon(0.25));  // five are 22%
  CHECK(due == all_of(Arrivals::constant(100, 1000s, Spacing::poisson, 7)));
  CHECK(due != all_of(Arrivals::constant(100, 1000s, Spacing::poisson, 8)));
}

TEST_CASE("no request is due after the end of a truncated trace, nor in seconds without requests") {
  Arrivals cut = Arrivals::of_trace({"any", {5, 0, 5, 5}}, 1, Spacing::even, 1);
  CHECK(cut.length() == 4s);
  cut.cut(3s);
  CHECK(cut.length() == 3s);
  const auto due = all_of(cut);
  CHECK(due.size() == 10);
  for (const Duration at : due) CHECK((at < 1s || (at >= 2s && at < 3s)));
  CHECK(all_of(Arrivals::of_trace({"none", {0, 0}}, 1, Spacing::even, 1)).empty());
}
