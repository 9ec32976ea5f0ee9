#include "common/stats/paired_evidence.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::stats {

void PairedEvidence::add(double difference) {
  if (!std::isfinite(difference)) return;
  ++pairs_;
  sum_ += difference;
  squares_ += difference * difference;
}

double PairedEvidence::against(double mean) const {
  const auto n = static_cast<double>(pairs_);
  const double sum = sum_ - n * mean;
  const double with_prior = std::max(0.0, squares_ - 2 * mean * sum_ + n * mean * mean) + kPrior;
  return sum * sum / (2 * with_prior) - std::log(with_prior / kPrior) / 2;
}

std::optional<Interval> PairedEvidence::interval(double alpha) const {
  if (pairs_ < kLeast) return std::nullopt;
  constexpr int kHalvings = 60;
  const auto n = static_cast<double>(pairs_);
  const double enough = -std::log(alpha - std::exp2(1 - static_cast<double>(kLeast)));
  const double variance = std::max(0.0, squares_ / n - mean() * mean());
  // Up to this distance from the mean, the capital increases.
  double low = 0, high = std::sqrt((n - 1) * (variance + kPrior / n) / n);
  if (against(mean() + high) < enough) return std::nullopt;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (against(mean() + middle) < enough ? low : high) = middle;
  }
  return Interval{mean(), mean() - high, mean() + high};
}

bool PairedEvidence::restore(std::size_t pairs, double sum, double squares) {
  const bool sane = std::isfinite(sum) && std::isfinite(squares) &&
                    sum * sum <= static_cast<double>(pairs) * squares * (1 + 1e-9) + 1e-12;
  if (!sane || (pairs == 0 && squares != 0)) return false;
  pairs_ = pairs;
  sum_ = sum;
  squares_ = squares;
  return true;
}

}  // namespace wattle::stats
