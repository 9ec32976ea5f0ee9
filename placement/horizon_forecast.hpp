// horizon_forecast: the cores that will be requested so long from now, how far off that may be, and how right that has been.
// Model    four guesses: as now goes on; as much more as came on balance over as long before, and half of that; what followed at this time a
//          day ago. Weighted by their errors (placement/scored_guesses); until one was judged, half of the growth
// Score    each forecast is kept until its time has come and compared with what is requested then: error, against that of "as now goes
//          on"; how often it was within the range; the pinball loss of the range's ends and its middle
// Trust    0 while nothing was judged; towards 1 as errors of late are smaller than those of "as now goes on" and the range holds what it
//          says. Times at which both are right say nothing
// Restart  scores are kept; forecasts that were not due are forgotten, as nobody knows how long it took
// Units    cores; seconds of any clock that does not jump back
// Errors   unpack: the reader's
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "placement/packed.hpp"
#include "placement/scored_guesses.hpp"

namespace wattle::placement {

struct HorizonOptions {
  double ahead_s = 3600;
  double late_s = 600;         // a forecast that is looked at later than this is not judged
  double range_share = 0.9;    // of what comes that is within the range
  double memory = 48;          // forecasts that trust goes by
  double guess_memory = 144;   // and weights
  double enough = 12;          // judged forecasts before trust may be whole
  std::size_t most_due = 300;  // forecasts that are kept until they are due
};

struct ExpectedCores {
  double cores = 0, low_cores = 0, high_cores = 0;
};

// Of all that were judged.
struct HorizonScore {
  std::uint64_t judged = 0;
  double error_cores = 0;        // mean of |forecast - what was requested|
  double still_error_cores = 0;  // the same, had "as now goes on" been forecast
  double within_ratio = 0;
  double pinball_cores = 0;  // mean loss of both ends and the middle
};

class HorizonForecast {
 public:
  explicit HorizonForecast(HorizonOptions options = {}) : options_(options) {}

  // What is requested, what came on balance over as long before as is looked ahead, what this time of day had follow a day ago.
  struct Seen {
    double cores = 0, growth_cores = 0;
    std::optional<double> of_day_cores;
  };
  // Judges what is due and forecasts anew. In the order of time.
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
    ExpectedCores told;
  };
  void judge(const Due& due, double cores);
  void forecast(const Seen& seen);

  HorizonOptions options_;
  std::deque<Due> due_;  // soonest first
  std::optional<ExpectedCores> next_;
  Scored scored_;
  double range_ = 2;  // half of it, in mean errors of the guesses
  // Of late.
  double weight_ = 0, within_weight_ = 0, recent_error_ = 0, recent_still_error_ = 0;
  double judged_ = 0, error_sum_ = 0, still_error_sum_ = 0, within_ = 0, pinball_sum_ = 0;
};

}  // namespace wattle::placement
