// decayed_histogram: a histogram whose weights decay with age, for quantiles of an endless series.
// Buckets  the first ends at `first`, each next one is `growth` times as wide; larger values count in the last.
//          Same as Kubernetes' VerticalPodAutoscaler (recommender/util/histogram.go, decaying_histogram.go)
// Weights  halve every `half_life_s`. Times may come in any order
// Units    seconds of one clock
// Errors   none; ignores values and weights that are NaN or negative, and weights or times above 1e15
// Threads  values
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wattle::stats {

struct DecayOptions {
  double first = 0.01, growth = 1.05;
  double half_life_s = 86'400;
  std::size_t buckets = 176;  // covers 0.01 to 1000
};

class DecayedHistogram {
 public:
  explicit DecayedHistogram(DecayOptions options = {}) : options_(options), weights_(options.buckets) {}

  // Returns false if the sample is ignored.
  bool add(double value, double weight, double at_s);
  // Sum of all weights, decayed to that time.
  double total(double at_s) const;
  bool empty() const { return !(total_ > 0); }
  // Upper edge of the bucket that contains this share of the weight; 0 if empty.
  double quantile(double share) const;

  // State to save: weights as of `as_of_s`, by bucket.
  double as_of_s() const { return as_of_s_; }
  std::span<const double> weights() const { return weights_; }
  // Returns false and changes nothing if the number of buckets differs or a weight is invalid.
  bool restore(double as_of_s, std::span<const double> weights);

 private:
  void move_to(double at_s);

  DecayOptions options_;
  std::vector<double> weights_;
  double total_ = 0, as_of_s_ = 0;
};

}  // namespace wattle::stats
