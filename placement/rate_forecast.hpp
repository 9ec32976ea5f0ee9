// rate_forecast: how many requests a second one service will get in the next minute, and how far off that may be.
// Model    four guesses: the last minute again; a slow and a quick level, each with a fading trend; what this time of day had on earlier days, times what
//          the last minutes had over their own, from the second day on. They are weighted by their errors (placement/scored_guesses)
// Error    told with each forecast: a range that 9 of 10 rates are in, since it follows the errors.
//          Scored: against the last minute again, and how many rates were in the range
// Units    requests/s; seconds of the wall clock, since time of day counts and what is kept goes on after a restart
// Gap      of ten minutes, or a clock that was set back by more than a minute: what the last minutes had begins anew
// Errors   rates that are negative or no numbers, and a minute that was told already, are not taken; unpack: the reader's
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "placement/packed.hpp"
#include "placement/scored_guesses.hpp"

namespace wattle::placement {

struct RateForecastOptions {
  double day_s = 86'400;
  std::size_t buckets = 288;      // of a day: five minutes
  double day_share = 0.3;         // of a newer day in what its time of day is known by
  double memory_minutes = 60;     // that errors are weighed by
  double range_share = 0.9;       // of rates that are in the range
  std::size_t least_minutes = 3;  // before anything is said
};

struct ExpectedRate {
  double rate_rps = 0;
  double low_rps = 0, high_rps = 0;
};

// Of all minutes that were forecast.
struct ForecastScore {
  std::uint64_t minutes = 0;
  double error_rps = 0;       // mean of |forecast - rate|
  double last_error_rps = 0;  // the same, had the last minute been forecast
  double rate_rps = 0;        // mean
  double within_ratio = 0;    // of minutes whose rate was in the range
};

class RateForecast {
 public:
  explicit RateForecast(RateForecastOptions options = {});

  // The mean rate of the minute that ends at `now_s`. False: not taken.
  bool add(double rate_rps, double now_s);
  // Of the minute that follows the last one; absent: too little is known.
  std::optional<ExpectedRate> next() const { return next_; }
  ForecastScore score() const;
  // Another day is behind, so that time of day has a say.
  bool knows_days() const { return guesses_[kByDay].has_value(); }

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  enum Guess : std::size_t { kAgain, kSlow, kQuick, kByDay, kGuesses };
  struct Trend {
    double level_rps = 0, trend_rps = 0;
    void add(double rate_rps, double level_share, double trend_share);
    double next_rps() const;
  };
  struct Bucket {
    double mean_rps = 0;  // of the days that are behind
    double days = 0;
    double sum_rps = 0, minutes = 0;  // of the day that is under way
    double day = -1;                  // its number
  };

  std::size_t bucket_at(double at_s) const;
  // With what was of another day than this one made part of the mean.
  Bucket on_day(Bucket bucket, double day) const;
  std::optional<double> of_day(double at_s) const;  // absent: no earlier day had it
  void judge(double rate_rps);
  void forecast();

  RateForecastOptions options_;
  std::vector<Bucket> buckets_;
  ScoredGuesses<kGuesses>::Guesses guesses_;
  ScoredGuesses<kGuesses> scored_;
  std::optional<ExpectedRate> next_;
  double over_day_ = 1;  // of late: the rate over that of its time of day
  double last_s_ = -1, last_rps_ = 0;
  Trend slow_, quick_;
  double minutes_ = 0;
  double range_ratio_ = 0.2;  // of the forecast
  double judged_ = 0, error_sum_ = 0, last_error_sum_ = 0, rate_sum_ = 0, within_ = 0;
};

}  // namespace wattle::placement
