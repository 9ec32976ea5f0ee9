// horizon_forecast: forecasts the requested cores at a fixed horizon, with a range, and scores past forecasts.
// Model    four guesses: no change; the net growth over an equally long past, and half of it; the change at this time
//          of day yesterday. Weighted by their errors (placement/cluster/scored_guesses); before the first score, half
//          of the growth
// Score    each forecast is kept until its due time and compared with the requested cores: its error against that of
//          "no change", how often the value was within the range, and the pinball loss of the range's ends and its
//          middle
// Trust    0 before the first score; approaches 1 as recent errors fall below those of "no change" and the range covers
//          its nominal share. Times at which both are right do not count
// Restart  scores are kept; forecasts not yet due are dropped, because the length of the outage is unknown
// Units    cores; seconds of any clock that does not jump back
// Errors   unpack: the reader's
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "placement/cluster/packed.hpp"
#include "placement/cluster/scored_guesses.hpp"

namespace wattle::placement {

struct HorizonOptions {
  double ahead_s = 3600;
  double late_s = 600;         // a forecast that is evaluated later than this is not scored
  double range_share = 0.9;    // share of values that the range should cover
  double memory = 48;          // number of forecasts that trust is based on
  double guess_memory = 144;   // number of forecasts that weights are based on
  double enough = 12;          // scored forecasts needed for full trust
  std::size_t most_due = 300;  // forecasts kept until they are due
};

struct ExpectedCores {
  double cores = 0, low_cores = 0, high_cores = 0;
};

// Over all scored forecasts.
struct HorizonScore {
  std::uint64_t judged = 0;
  double error_cores = 0;        // mean of |forecast - requested|
  double still_error_cores = 0;  // mean error of the forecast "no change"
  double within_ratio = 0;
  double pinball_cores = 0;  // mean loss of both ends and the middle
};

class HorizonForecast {
 public:
  explicit HorizonForecast(HorizonOptions options = {}) : options_(options) {}

  // Requested cores, net growth over a past as long as the horizon, and yesterday's change at this time of day.
  struct Seen {
    double cores = 0, growth_cores = 0;
    std::optional<double> of_day_cores;
  };
  // Scores due forecasts and makes a new one. Call in order of time.
  void step(const Seen& seen, double now_s);
  const std::optional<ExpectedCores>& next() const { return next_; }
  HorizonScore score() const;
  double trust() const;

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  enum Guess : std::size_t { kStill, kGrowth, kHalfGrowth, kByDay, kGuesses };
  using Scored = ScoredGuesses<kGuesses>;
  struct Due {
    double at_s = 0;
    Scored::Guesses guesses;
    ExpectedCores reported;
  };
  void judge(const Due& due, double cores);
  void forecast(const Seen& seen);

  HorizonOptions options_;
  std::deque<Due> due_;  // soonest first
  std::optional<ExpectedCores> next_;
  Scored scored_;
  double range_ = 2;  // half width, in mean errors of the guesses
  // Recent, decaying.
  double weight_ = 0, within_weight_ = 0, recent_error_ = 0, recent_still_error_ = 0;
  double judged_ = 0, error_sum_ = 0, still_error_sum_ = 0, within_ = 0, pinball_sum_ = 0;
};

}  // namespace wattle::placement
