#include "provision/requests/rate_forecast.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {

constexpr double kMinuteS = 60;
constexpr double kLongestGapS = 600;  // a longer gap resets level and trend
constexpr double kTrendFades = 0.8, kOverDayShare = 0.2;
constexpr double kRangeStep = 0.2;  // of the range's logarithm, per minute
constexpr double kMostOverDay = 100;
constexpr double kMostRps = 1e12, kMostS = 1e15;

}  // namespace

RateForecast::RateForecast(RateForecastOptions options) : options_(options), buckets_(options.buckets) {}

std::size_t RateForecast::bucket_at(double at_s) const {
  const double of_day = std::fmod(std::max(at_s, 0.0), options_.day_s) / options_.day_s;
  const auto place = static_cast<std::size_t>(of_day * static_cast<double>(buckets_.size()));
  return std::min(place, buckets_.size() - 1);
}

RateForecast::Bucket RateForecast::on_day(Bucket bucket, double day) const {
  if (bucket.day < day && bucket.minutes > 0) {
    const double share = bucket.days > 0 ? std::max(options_.day_share, 1 / (bucket.days + 1)) : 1;
    bucket.mean_rps += share * (bucket.sum_rps / bucket.minutes - bucket.mean_rps);
    bucket.days += 1;
    bucket.sum_rps = bucket.minutes = 0;
  }
  bucket.day = day;
  return bucket;
}

std::optional<double> RateForecast::of_day(double at_s) const {
  const Bucket bucket = on_day(buckets_[bucket_at(at_s)], std::floor(at_s / options_.day_s));
  if (!(bucket.days > 0)) return std::nullopt;
  return bucket.mean_rps;
}

void RateForecast::Trend::add(double rate_rps, double level_share, double trend_share) {
  const double before = level_rps;
  level_rps += trend_rps * kTrendFades;
  level_rps += level_share * (rate_rps - level_rps);
  trend_rps = trend_rps * kTrendFades * (1 - trend_share) + trend_share * (level_rps - before);
}

double RateForecast::Trend::next_rps() const { return std::max(0.0, level_rps + trend_rps * kTrendFades); }

void RateForecast::judge(double rate_rps) {
  scored_.judge(guesses_, rate_rps, 1 - 1 / options_.memory_minutes);
  if (!next_) return;
  const double error = std::abs(next_->rate_rps - rate_rps);
  const bool within = rate_rps >= next_->low_rps && rate_rps <= next_->high_rps;
  range_ratio_ = followed_range(range_ratio_, within, options_.range_share, kRangeStep, 0.001, 10.0);
  judged_ += 1;
  error_sum_ += error;
  last_error_sum_ += std::abs(last_rps_ - rate_rps);
  rate_sum_ += rate_rps;
  within_ += within ? 1 : 0;
}

bool RateForecast::add(double rate_rps, double now_s) {
  if (!(rate_rps >= 0 && rate_rps <= kMostRps && now_s >= 0 && now_s <= kMostS)) return false;
  const double passed_s = now_s - last_s_;
  if (passed_s <= 0 && passed_s >= -kMinuteS) return false;
  const bool goes_on = last_s_ >= 0 && passed_s > 0 && passed_s <= kLongestGapS;
  if (goes_on) {
    judge(rate_rps);
    slow_.add(rate_rps, 0.3, 0.1);
    quick_.add(rate_rps, 0.7, 0.4);
    minutes_ += 1;
  } else {
    slow_ = quick_ = {rate_rps, 0};
    minutes_ = 1;
  }
  last_s_ = now_s;
  last_rps_ = rate_rps;

  const double middle_s = std::max(now_s - kMinuteS / 2, 0.0), day = std::floor(middle_s / options_.day_s);
  Bucket& bucket = buckets_[bucket_at(middle_s)];
  bucket = on_day(bucket, day);
  if (bucket.days > 0 && bucket.mean_rps > 0) {
    const double over = std::min(rate_rps / bucket.mean_rps, kMostOverDay);
    over_day_ += kOverDayShare * (over - over_day_);
  }
  bucket.sum_rps += rate_rps;
  bucket.minutes += 1;
  forecast();
  return true;
}

void RateForecast::forecast() {
  guesses_ = {};
  next_.reset();
  if (minutes_ < static_cast<double>(options_.least_minutes)) return;
  guesses_[kAgain] = last_rps_;
  guesses_[kSlow] = slow_.next_rps();
  guesses_[kQuick] = quick_.next_rps();
  if (const auto then = of_day(last_s_ + kMinuteS / 2)) guesses_[kByDay] = *then * over_day_;
  // A guess without a score has no weight, except in the first minute.
  const double rate = scored_.together(guesses_, 1e-6 * (1 + last_rps_ * last_rps_), kAgain).value;
  next_ = ExpectedRate{rate, std::max(0.0, rate * (1 - range_ratio_)), rate * (1 + range_ratio_)};
}

ForecastScore RateForecast::score() const {
  const double count = std::max(judged_, 1.0);
  return {static_cast<std::uint64_t>(judged_), error_sum_ / count, last_error_sum_ / count, rate_sum_ / count,
          within_ / count};
}

}  // namespace wattle::placement
