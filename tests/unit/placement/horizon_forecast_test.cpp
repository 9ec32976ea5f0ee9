// horizon_forecast: requested cores in the next hour and day, scored against reality: calibrated, better than
// persistence if there is a pattern, and trusted only while its scores justify it.
#include "placement/cluster/horizon_forecast.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "common/stats/draws.hpp"
#include "placement/cluster/forecast.hpp"

namespace wattle::placement {
namespace {

constexpr double kBucket_s = 300;
constexpr std::size_t kDay = 288;  // buckets

// Reports `cores(bucket)` for a number of buckets, as a cluster does.
template <class Cores>
class ReportedForecast {
 public:
  explicit ReportedForecast(Cores cores, double begins_cores = 0) : cores_(cores), now_(begins_cores) {
    forecast.sample(now_, 0);
  }
  void go_on(std::size_t buckets, std::size_t from = 0) {
    for (std::size_t i = from; i < from + buckets; ++i) {
      const double next = std::max(0.0, cores_(i)), by = next - now_;
      by > 0 ? forecast.arrived(by) : forecast.went(-by);
      now_ = next;
      forecast.sample(now_, kBucket_s * static_cast<double>(i + 1));
      trusted(forecast.hour());
      trusted(forecast.window());
    }
  }
  RequestForecast forecast;

 private:
  static void trusted(const HorizonForecast& horizon) {
    CHECK(horizon.trust() >= 0);
    CHECK(horizon.trust() <= 1);
  }
  Cores cores_;
  double now_;
};

double of_day(std::size_t bucket) {
  return 200 + 100 * std::sin(2 * std::numbers::pi * static_cast<double>(bucket % kDay) / kDay);
}

TEST_CASE("without a scored forecast there is no trust, so none within an hour of the first forecast") {
  ReportedForecast fill([](std::size_t i) { return static_cast<double>(i + 1); });
  fill.go_on(14);
  CHECK(fill.forecast.hour().score().judged == 0);
  CHECK(fill.forecast.hour().trust() == 0);
  fill.go_on(24, 14);
  CHECK(fill.forecast.hour().score().judged > 12);
  CHECK(fill.forecast.hour().trust() > 0.3);
  CHECK(fill.forecast.window().trust() == 0);  // less than a day has passed
}

TEST_CASE("days that are alike: calibrated over seeds, and twice as accurate as persistence") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    stats::Random random(seed);
    ReportedForecast days([&](std::size_t i) { return of_day(i) + stats::uniform(random, -10, 10); }, 200);
    days.go_on(6 * kDay);
    const HorizonScore score = days.forecast.hour().score();
    CHECK(score.judged > 5 * kDay);
    CHECK(score.within_ratio > 0.7);
    CHECK(score.within_ratio < 0.99);
    CHECK(score.error_cores < 0.7 * score.still_error_cores);
    CHECK(score.pinball_cores < score.error_cores);
    CHECK(days.forecast.hour().trust() > 0.3);
    const HorizonScore day = days.forecast.window().score();
    CHECK(day.judged > 4 * kDay);
    CHECK(day.within_ratio > 0.7);
    CHECK(day.within_ratio < 0.99);
  }
}

TEST_CASE("a random walk stays within the range, and earns little trust") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    stats::Random random(seed);
    double level = 500;
    ReportedForecast walk([&](std::size_t) { return level = std::max(0.0, level + stats::uniform(random, -5, 5)); },
                          500);
    walk.go_on(6 * kDay);
    const HorizonScore score = walk.forecast.hour().score();
    CHECK(score.within_ratio > 0.7);
    CHECK(score.within_ratio < 0.99);
    CHECK(score.error_cores < 1.1 * score.still_error_cores);
    CHECK(walk.forecast.hour().trust() < 0.2);
  }
}

TEST_CASE("an unforeseeable step lowers trust and widens the range") {
  const auto at = [](std::size_t i) { return static_cast<double>(i) + (i >= 72 ? 400.0 : 0.0); };
  ReportedForecast step(at);
  step.go_on(72);
  const double before = step.forecast.hour().trust();
  const ExpectedCores was = *step.forecast.hour().next();
  CHECK(before > 0.5);
  step.go_on(12, 72);
  CHECK(step.forecast.hour().trust() < 0.5 * before);
  const ExpectedCores is = *step.forecast.hour().next();
  CHECK(is.high_cores - is.low_cores > 5 * (was.high_cores - was.low_cores));
}

TEST_CASE("pods that stay: the forecast is at most the hour's range, and ends an hour after growth has ended") {
  ReportedForecast fill([](std::size_t i) { return static_cast<double>(std::min<std::size_t>(5 * (i + 1), 360)); });
  fill.go_on(60);
  REQUIRE(fill.forecast.pods_stay());
  const auto growing = fill.forecast.expected_cores(1e6);
  REQUIRE(growing.size() > 1);
  CHECK(growing.front() == doctest::Approx(300));
  CHECK(growing.back() > 350);
  CHECK(growing.back() < 400);
  CHECK(std::is_sorted(growing.begin(), growing.end()));
  CHECK(fill.forecast.expected_cores(310).back() == 310);
  fill.go_on(60, 60);
  const auto ended = fill.forecast.expected_cores(1e6);
  CHECK(ended.front() == doctest::Approx(360));
  CHECK(ended.back() == doctest::Approx(360));
}

TEST_CASE("scores survive a restart, pending forecasts do not, and damage is refused") {
  stats::Random random(9);
  ReportedForecast days([&](std::size_t i) { return of_day(i) + stats::uniform(random, -10, 10); }, 200);
  days.go_on(2 * kDay);
  PackWriter out;
  days.forecast.pack_scores(out);
  const std::string bytes = out.take();
  RequestForecast after;
  PackReader in(bytes);
  after.unpack_scores(in);
  REQUIRE(in.done());
  CHECK(after.hour().trust() == days.forecast.hour().trust());
  CHECK(after.hour().score().judged == days.forecast.hour().score().judged);
  CHECK(after.hour().score().within_ratio == days.forecast.hour().score().within_ratio);
  CHECK_FALSE(after.hour().next().has_value());
  PackWriter again;
  after.pack_scores(again);
  CHECK(again.take() == bytes);

  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    CAPTURE(at);
    PackWriter minus_one;
    minus_one.real(-1);
    std::string damaged = bytes;
    damaged.replace(at, 8, minus_one.take());
    RequestForecast none;
    PackReader wrong(damaged);
    none.unpack_scores(wrong);
    CHECK_FALSE(wrong.ok());
  }
}

TEST_CASE("a forecast that was not read in time is not scored, and another clock starts from scratch") {
  HorizonForecast hour;
  for (int i = 0; i < 12; ++i) hour.step({100, 0, {}}, 300.0 * i);
  hour.step({500, 0, {}}, 100'000);
  CHECK(hour.score().judged == 0);
  hour.step({500, 0, {}}, 50);
  hour.step({500, 0, {}}, 3650);
  CHECK(hour.score().judged == 1);
  CHECK(hour.score().error_cores == 0);
  hour.step({std::numeric_limits<double>::quiet_NaN(), 0, {}}, 3700);
  hour.step({500, std::numeric_limits<double>::infinity(), {}}, 3700);
  CHECK(hour.score().judged == 1);
}

}  // namespace
}  // namespace wattle::placement
