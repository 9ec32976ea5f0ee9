// rate_forecast: forecasts a service's requests per second for the next minute, with a range.
// Model    four guesses: the last minute; a slow and a quick level, each with a decaying trend; the rate of this time
//          of day on earlier days, scaled by the ratio of the last minutes to theirs, after the first day. Weighted
//          by their errors (placement/cluster/scored_guesses)
// Range    covers 9 of 10 rates, because it adapts to the errors. Scored against the last minute's rate, and by the
//          share of rates within the range
// Units    requests/s; seconds of the wall clock, because the time of day counts
// Gap      of ten minutes, or a clock set back by more than a minute: the state of the last minutes resets
// Errors   rates that are negative or not finite, and a minute that was already added, are ignored
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "placement/cluster/scored_guesses.hpp"

namespace wattle::placement {

struct RateForecastOptions {
  double day_s = 86'400;
  std::size_t buckets = 288;      // per day: five minutes each
  double day_share = 0.3;         // weight of a newer day in the mean of its time of day
  double memory_minutes = 60;     // memory of the errors
  double range_share = 0.9;       // of rates within the range
  std::size_t least_minutes = 3;  // needed for the first forecast
};

struct ExpectedRate {
  double rate_rps = 0;
  double low_rps = 0, high_rps = 0;
};

// Over all forecast minutes.
struct ForecastScore {
  std::uint64_t minutes = 0;
  double error_rps = 0;       // mean of |forecast - rate|
  double last_error_rps = 0;  // the same for the last minute's rate as forecast
  double rate_rps = 0;        // mean
  double within_ratio = 0;    // share of minutes whose rate was in the range
};

class RateForecast {
 public:
  explicit RateForecast(RateForecastOptions options = {});

  // Adds the mean rate of the minute that ends at `now_s`. Returns false if it was ignored.
  bool add(double rate_rps, double now_s);
  // Forecast for the minute after the last one. No value if there is too little data.
  std::optional<ExpectedRate> next() const { return next_; }
  ForecastScore score() const;
  // Returns whether an earlier day is known, so that the time of day counts.
  bool knows_days() const { return guesses_[kByDay].has_value(); }

 private:
  enum Guess : std::size_t { kAgain, kSlow, kQuick, kByDay, kGuesses };
  struct Trend {
    double level_rps = 0, trend_rps = 0;
    void add(double rate_rps, double level_share, double trend_share);
    double next_rps() const;
  };
  struct Bucket {
    double mean_rps = 0;  // of completed days
    double days = 0;
    double sum_rps = 0, minutes = 0;  // of the current day
    double day = -1;                  // number of the current day
  };

  std::size_t bucket_at(double at_s) const;
  // Returns the bucket for this day, with data of an earlier day merged into the mean.
  Bucket on_day(Bucket bucket, double day) const;
  std::optional<double> of_day(double at_s) const;  // no value if no earlier day has data
  void judge(double rate_rps);
  void forecast();

  RateForecastOptions options_;
  std::vector<Bucket> buckets_;
  ScoredGuesses<kGuesses>::Guesses guesses_;
  ScoredGuesses<kGuesses> scored_;
  std::optional<ExpectedRate> next_;
  double over_day_ = 1;  // recent ratio of the rate to that of its time of day
  double last_s_ = -1, last_rps_ = 0;
  Trend slow_, quick_;
  double minutes_ = 0;
  double range_ratio_ = 0.2;  // of the forecast
  double judged_ = 0, error_sum_ = 0, last_error_sum_ = 0, rate_sum_ = 0, within_ = 0;
};

}  // namespace wattle::placement
