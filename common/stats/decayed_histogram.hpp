// decayed_histogram: how much of something was how large, where what is old weighs less; for quantiles of what is seen for ever.
// Buckets  the first ends at `first`, each next one is `growth` times as wide; what is beyond the last counts in the last.
//          As Kubernetes' VerticalPodAutoscaler has them (recommender/util/histogram.go, decaying_histogram.go)
// Weights  halve each `half_life_s`. Times may come in any order
// Units    seconds of one clock
// Errors   none; values and weights that are no numbers or negative, and weights or times beyond 1e15, are not taken
// Threads  values
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wattle::stats {

struct DecayOptions {
  double first = 0.01, growth = 1.05;
  double half_life_s = 86'400;
  std::size_t buckets = 176;  // from 0.01 on: up to 1000
};

class DecayedHistogram {
 public:
  explicit DecayedHistogram(DecayOptions options = {}) : options_(options), weights_(options.buckets) {}

  // False: not taken.
  bool add(double value, double weight, double at_s);
  // All that was added, as it weighs at that time.
  double total(double at_s) const;
  bool empty() const { return !(total_ > 0); }
  // The end of the bucket that this share of the weight does not exceed; 0 of nothing.
  double quantile(double share) const;

  // To be kept: weights as of `as_of_s`, by bucket.
  double as_of_s() const { return as_of_s_; }
  std::span<const double> weights() const { return weights_; }
  // False, and nothing changes: another number of buckets, or weights that are none.
  bool restore(double as_of_s, std::span<const double> weights);

 private:
  void move_to(double at_s);

  DecayOptions options_;
  std::vector<double> weights_;
  double total_ = 0, as_of_s_ = 0;
};

}  // namespace wattle::stats
