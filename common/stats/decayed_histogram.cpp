#include "common/stats/decayed_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wattle::stats {
namespace {

constexpr double kMostHalvings = 64;  // between the weights' time and a new sample's; keeps doubles far from overflow
constexpr double kMost = 1e15;        // for a weight, and for seconds
constexpr double kMostKept = 1e100;

}  // namespace

// Moves by whole half-lives, because a product with a power of two is exact.
void DecayedHistogram::move_to(double at_s) {
  const double halvings = std::floor((at_s - as_of_s_) / options_.half_life_s);
  if (halvings <= kMostHalvings) return;
  as_of_s_ += halvings * options_.half_life_s;
  for (double& weight : weights_) weight *= std::exp2(-halvings);
  total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

bool DecayedHistogram::add(double value, double weight, double at_s) {
  if (!(value >= 0 && weight >= 0 && weight <= kMost && std::abs(at_s) <= kMost)) return false;
  move_to(at_s);
  const double now = weight * std::exp2((at_s - as_of_s_) / options_.half_life_s);
  const double step = std::log1p(value * (options_.growth - 1) / options_.first) / std::log(options_.growth);
  weights_[std::min(static_cast<std::size_t>(std::min(step, 1e9)), weights_.size() - 1)] += now;
  total_ += now;
  return true;
}

double DecayedHistogram::total(double at_s) const {
  return total_ * std::exp2((as_of_s_ - at_s) / options_.half_life_s);
}

double DecayedHistogram::quantile(double share) const {
  if (empty()) return 0;
  double sum = 0;
  std::size_t bucket = 0;  // last bucket with weight, in case rounding keeps the sum below the total
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0) bucket = i;
    if ((sum += weights_[i]) >= share * total_) break;
  }
  return options_.first * (std::pow(options_.growth, static_cast<double>(bucket + 1)) - 1) / (options_.growth - 1);
}

bool DecayedHistogram::restore(double as_of_s, std::span<const double> weights) {
  if (!(std::abs(as_of_s) <= kMost) || weights.size() != weights_.size()) return false;
  if (std::any_of(weights.begin(), weights.end(), [](double each) { return !(each >= 0 && each <= kMostKept); }))
    return false;
  as_of_s_ = as_of_s;
  weights_.assign(weights.begin(), weights.end());
  total_ = std::accumulate(weights.begin(), weights.end(), 0.0);
  return true;
}

}  // namespace wattle::stats
