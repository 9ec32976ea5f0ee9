// doubt: the interval has the figure, widens with each part of the doubt, and is absent before the days are known.
#include "provision/savings/doubt.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace wattle::placement {
namespace {

double drawn(int least, int most) { return *rc::gen::inRange(least, most); }

std::vector<double> drawn_list(std::size_t least) {
  std::vector<double> list;
  for (std::size_t i = *rc::gen::inRange<std::size_t>(least, least + 8); i > 0; --i) list.push_back(drawn(-50, 50));
  return list;
}

Doubt drawn_doubt() {
  Doubt doubt{drawn_list(0), 0.01 * drawn(0, 30), drawn(0, 80), drawn_list(1)};
  doubt.least_w = -std::numeric_limits<double>::infinity();
  return doubt;
}

TEST_CASE("an interval contains its figure and all models of it") {
  CHECK(rc::check([] {
    const double saved_w = drawn(-100, 400);
    Doubt doubt = drawn_doubt();
    doubt.days_w = {0};
    const auto interval = interval_of(saved_w, doubt).value();
    RC_ASSERT(interval.mean == saved_w);
    doubt.models_w.push_back(saved_w);
    for (const double each : doubt.models_w) RC_ASSERT(interval.low <= each && each <= interval.high);
  }));
}

TEST_CASE("an interval widens with the error of the curve, a node's watts, another model and larger changes of days") {
  CHECK(rc::check([] {
    const double saved_w = drawn(1, 400);
    Doubt doubt = drawn_doubt();
    for (double& each : doubt.models_w) each = std::abs(each);  // a share of the watts moves both ends outwards
    const auto before = interval_of(saved_w, doubt).value();
    const auto mean = [](const std::vector<double>& days) {
      double sum = 0;
      for (const double each : days) sum += each;
      return sum / static_cast<double>(days.size());
    };
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        doubt.node_w += 10;
        break;
      case 1:
        doubt.models_w.push_back(drawn(-400, 800));
        break;
      case 2:
        doubt.curve_sd_ratio += 0.05;
        break;
      default: {
        const double centre = mean(doubt.days_w), width = before.high - before.low;
        for (double& each : doubt.days_w) each = centre + 2 * (each - centre);
        const auto wider = interval_of(saved_w, doubt).value();
        RC_ASSERT(wider.high - wider.low >= width - 1e-9);
        return;
      }
    }
    const auto after = interval_of(saved_w, doubt).value();
    RC_ASSERT(after.high - after.low >= before.high - before.low - 1e-9);
  }));
}

TEST_CASE("without two known days there is no interval; hours without a value do not count") {
  std::vector<double> hourly(kLeastHours, 7);
  CHECK(day_errors(hourly) == std::vector<double>(kLeastHours - 24, 0));
  hourly.front() = std::numeric_limits<double>::quiet_NaN();
  CHECK(day_errors(hourly).empty());
  CHECK_FALSE(interval_of(50, Growth{hourly, 7, 0.1, 50}.of_changes(50, {60})));
}

TEST_CASE("more pods make changes save more and sleep save less, within the idle watts of the nodes") {
  std::vector<double> hourly;
  for (std::size_t hour = 0; hour < 4 * kLeastHours; ++hour) hourly.push_back(10 + static_cast<double>(hour));
  const Growth growth{hourly, 100, 0, 0};
  const auto changes = interval_of(50, growth.of_changes(50, {})).value();
  CHECK(changes.low == 50);
  CHECK(changes.high == doctest::Approx(50 + 50 * 12.5 / 100));
  const auto sleep = interval_of(50, growth.of_empty({}, 200, 60)).value();
  CHECK(sleep.low == doctest::Approx(50 - 200 * 12.5 / 100));
  CHECK(sleep.high == 50);
  const auto empty = interval_of(10, growth.of_empty({}, 200, 60)).value();
  CHECK(empty.low == 0);  // no fewer than none sleep
}

}  // namespace
}  // namespace wattle::placement
