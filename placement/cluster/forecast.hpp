// forecast: predicts the requested cores from their history.
// Model    time is divided into buckets, each with its mean requested cores and the cores of the pods that started and
//          ended. Pods count as staying if less than a tenth of the cores that started in the window ended again. Where
//          pods come and go, each of the window's means is equally likely in the long run. Where they stay, growth may
//          end at any time: the forecast is uniform between the current value and the upper end of the one-hour range,
//          at most twice the last hour's growth, and looks no further ahead than that scored horizon
// Score    for two horizons, an hour and the window (placement/cluster/horizon_forecast). The plan looks an hour ahead,
//          so its trust is the score of that horizon
// Unknown  before `least_buckets` are full there is no expectation, and pods count as coming and going
// Units    cores, seconds of any clock that does not jump
// Errors   none; values that are not finite or negative are ignored
// Threads  single owner
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "placement/cluster/horizon_forecast.hpp"
#include "placement/cluster/packed.hpp"

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

  // Records the cores requested now. Any number of calls, in order of time.
  void sample(double requested_cores, double now_s);
  void arrived(double cores);
  void went(double cores);
  // The request of a running pod changed by this many cores. Corrects the history, because no pod started or ended.
  void resized(double cores);

  bool known() const { return past_.size() >= options_.least_buckets; }
  bool pods_stay() const;
  // Returns equally likely values, ascending, at most `capacity_cores`; empty if unknown.
  std::vector<double> expected_cores(double capacity_cores) const;
  const HorizonForecast& hour() const { return hour_; }
  const HorizonForecast& window() const { return window_; }

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  // The scores are packed separately: states saved before scores existed have none.
  void pack_scores(PackWriter& out) const;
  void unpack_scores(PackReader& in);

 private:
  struct Bucket {
    double mean_cores = 0, arrived_cores = 0, went_cores = 0;
  };
  Bucket sum() const;
  void close();
  std::size_t in_an_hour() const;  // buckets
  // Returns the net growth over the last `buckets` buckets.
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
