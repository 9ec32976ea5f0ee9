// forecast: how many cores will be requested, from how many were.
// Model    time is cut into buckets, each with its mean of the requested cores and what came and went. Pods stay when less
//          than a tenth of what came over the window went again. Where they come and go, the cores requested in the long
//          run are as likely any of the window's means. Where they stay, growth may end at any time: what is
//          there now, and none to half of what came on balance over the window
// Unknown  before `least_buckets` are full nothing is said: no expectation, and pods come and go
// Units    cores, seconds of any clock that does not jump
// Errors   none; values that are not finite or negative are not taken
// Threads  single owner
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

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
  explicit RequestForecast(ForecastOptions options = {}) : options_(options) {}

  // The cores requested now; any number of times, in the order of time.
  void sample(double requested_cores, double now_s);
  void came(double cores);
  void went(double cores);

  bool known() const { return past_.size() >= options_.least_buckets; }
  bool pods_stay() const;
  // Equally likely values, ascending, at most `capacity_cores`; empty: unknown.
  std::vector<double> expected_cores(double capacity_cores) const;

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  struct Bucket {
    double mean_cores = 0, came_cores = 0, went_cores = 0;
  };
  Bucket sum() const;

  ForecastOptions options_;
  std::deque<Bucket> past_;  // oldest first
  Bucket open_;
  double weight_s_ = 0;  // of open_.mean_cores
  double began_s_ = -1, last_s_ = -1;
  double now_cores_ = 0;
};

}  // namespace wattle::placement
