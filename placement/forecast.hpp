// forecast: how many cores will be requested, from how many were.
// Model    time is cut into buckets, each with its mean of the requested cores and what came and went. Pods stay when less
//          than a tenth of what came over the window went again. Where they come and go, the cores requested in the long
//          run are as likely any of the window's means. Where they stay, growth may end at any time, and is reckoned with no farther
//          than has been judged: anything between what is there now and the upper end of the range of an hour from now, at
//          most twice what the last hour brought
// Score    of two horizons, an hour and the window: placement/horizon_forecast. The plan looks an hour ahead, so that its score is the
//          trust in it
// Unknown  before `least_buckets` are full nothing is said: no expectation, and pods come and go
// Units    cores, seconds of any clock that does not jump
// Errors   none; values that are not finite or negative are not taken
// Threads  single owner
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "placement/horizon_forecast.hpp"
#include "placement/packed.hpp"

namespace wattle::placement {

struct ForecastOptions {
  double bucket_s = 300;
  std::size_t buckets = 288;       // a day
  std::size_t least_buckets = 12;  // an hour
  double stay_ratio = 0.1;
};

class RequestForecast {
 public:
  explicit RequestForecast(ForecastOptions options = {});

  // The cores requested now; any number of times, in the order of time.
  void sample(double requested_cores, double now_s);
  void came(double cores);
  void went(double cores);

  bool known() const { return past_.size() >= options_.least_buckets; }
  bool pods_stay() const;
  // Equally likely values, ascending, at most `capacity_cores`; empty: unknown.
  std::vector<double> expected_cores(double capacity_cores) const;
  const HorizonForecast& hour() const { return hour_; }
  const HorizonForecast& window() const { return window_; }

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  // The scores, which are kept apart: what was saved before there were any has none.
  void pack_scores(PackWriter& out) const;
  void unpack_scores(PackReader& in);

 private:
  struct Bucket {
    double mean_cores = 0, came_cores = 0, went_cores = 0;
  };
  Bucket sum() const;
  void close();
  std::size_t in_an_hour() const;  // buckets
  // What comes on balance in so many buckets, as it did before.
  double growth_cores(std::size_t buckets) const;

  ForecastOptions options_;
  std::deque<Bucket> past_;  // oldest first
  Bucket open_;
  double weight_s_ = 0;  // of open_.mean_cores
  double began_s_ = -1, last_s_ = -1;
  double now_cores_ = 0;
  HorizonForecast hour_, window_;
};

}  // namespace wattle::placement
