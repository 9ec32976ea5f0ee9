// rate_forecast: the next minute's rate: better than persistence if there is a pattern, with a calibrated error, and
// the same after a restart.
#include "provision/requests/rate_forecast.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "common/stats/draws.hpp"

namespace wattle::placement {
namespace {

constexpr double kStart_s = 1'700'000'000;

// Feeds `minutes` of rate(minutes since midnight) with noise; returns the forecast of the next one.
template <class Rate>
RateForecast after(std::size_t minutes, Rate rate, double noise_ratio, RateForecast forecast = RateForecast()) {
  stats::Random random(7);
  const double midnight_s = std::floor(kStart_s / 86'400) * 86'400;
  for (std::size_t i = 1; i <= minutes; ++i)
    forecast.add(rate(static_cast<double>(i)) * (1 + noise_ratio * stats::uniform(random, -1, 1)),
                 midnight_s + 60 * static_cast<double>(i));
  return forecast;
}

// Three times as much for half an hour, every two hours, which trends cannot predict.
double in_steps(double minute) { return std::fmod(minute - 1, 120) < 30 ? 300 : 100; }

TEST_CASE("there is no forecast before three minutes of a rate") {
  CHECK_FALSE(RateForecast().next());
  CHECK_FALSE(after(
                  2, [](double) { return 5.0; }, 0)
                  .next());
  const auto next = after(
                        3, [](double) { return 5.0; }, 0)
                        .next();
  REQUIRE(next);
  CHECK(next->rate_rps == doctest::Approx(5));
  CHECK(next->low_rps < 5);
  CHECK(next->high_rps > 5);
}

TEST_CASE("noise around a level is forecast better by the level than by persistence") {
  const ForecastScore score = after(
                                  600, [](double) { return 100.0; }, 0.3)
                                  .score();
  CHECK(score.minutes == 597);
  CHECK(score.rate_rps == doctest::Approx(100).epsilon(0.05));
  CHECK(score.error_rps < 0.92 * score.last_error_rps);
}

TEST_CASE("nine of ten rates are in the reported range") {
  for (const double noise : {0.02, 0.3}) {
    CAPTURE(noise);
    const ForecastScore score = after(
                                    3000, [](double) { return 100.0; }, noise)
                                    .score();
    CHECK(score.within_ratio > 0.85);
    CHECK(score.within_ratio < 0.95);
  }
}

TEST_CASE("from the second day on the time of day is known, and its changes are forecast in advance") {
  CHECK_FALSE(after(1439, in_steps, 0.02).knows_days());
  RateForecastOptions one_long_day;
  one_long_day.day_s = 1e10;
  const RateForecast days = after(3 * 1440, in_steps, 0.02),
                     none = after(3 * 1440, in_steps, 0.02, RateForecast(one_long_day));
  CHECK(days.knows_days());
  CHECK_FALSE(none.knows_days());
  CHECK(days.score().error_rps < 0.8 * none.score().error_rps);
}

TEST_CASE("an invalid or repeated rate is ignored; a gap, and a clock that was set back, restart the level") {
  RateForecast forecast = after(
      10, [](double) { return 50.0; }, 0);
  const double last_s = std::floor(kStart_s / 86'400) * 86'400 + 600;
  for (const double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK_FALSE(forecast.add(wrong, last_s + 60));
  CHECK_FALSE(forecast.add(50, last_s));
  CHECK(forecast.next());
  CHECK(forecast.add(400, last_s + 7200));
  CHECK_FALSE(forecast.next());
  CHECK_FALSE(forecast.add(400, last_s + 7150));
  for (double at_s = last_s; at_s < last_s + 300; at_s += 60) CHECK(forecast.add(20, at_s));
  REQUIRE(forecast.next());
  CHECK(forecast.next()->rate_rps == doctest::Approx(20).epsilon(0.05));
}

}  // namespace
}  // namespace wattle::placement
