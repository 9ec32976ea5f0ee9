#include "common/stats/paired_evidence.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::stats {

void PairedEvidence::add(double difference, double apart) {
  if (!std::isfinite(difference) || !(apart > 0 && apart <= 1)) return;
  const double ad = apart * difference, aa = apart * apart;
  ++pairs_;
  sum_ += ad;
  squares_ += ad * ad;
  weight_ += aa;
  cross_ += aa * ad;
  fourth_ += aa * aa;
}

double PairedEvidence::against(double mean) const {
  const double sum = sum_ - weight_ * mean;
  const double with_prior = std::max(0.0, squares_ - 2 * mean * cross_ + fourth_ * mean * mean) + kPrior;
  return sum * sum / (2 * with_prior) - std::log(with_prior / kPrior) / 2;
}

std::optional<double> PairedEvidence::reach(double side, double enough) const {
  constexpr int kSteps = 120, kHalvings = 50;
  constexpr double kStep = 1.1, kFirst = 0.1;
  const double spread = std::max(0.0, squares_ - 2 * mean() * cross_ + fourth_ * mean() * mean());
  double low = 0, high = kFirst * std::sqrt(spread + kPrior) / weight_;
  int step = 0;
  for (; step < kSteps && against(mean() + side * high) < enough; ++step) {
    low = high;
    high *= kStep;
  }
  if (step == kSteps) return std::nullopt;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (against(mean() + side * middle) < enough ? low : high) = middle;
  }
  return high;
}

std::optional<Interval> PairedEvidence::interval(double alpha) const {
  if (pairs_ < kLeast) return std::nullopt;
  const double enough = -std::log(alpha - std::exp2(1 - static_cast<double>(kLeast)));
  const auto below = reach(-1, enough), above = reach(1, enough);
  if (!below || !above) return std::nullopt;
  return Interval{mean(), mean() - *below, mean() + *above};
}

std::optional<double> PairedEvidence::upper(double deviation) const {
  if (!(weight_ > 0)) return std::nullopt;
  const double with_prior = weight_ + kUpperPrior;
  const double width = std::sqrt(with_prior * std::log(with_prior / (kUpperPrior * kUpper * kUpper)));
  return mean() + deviation * width / weight_;
}

bool PairedEvidence::restore(const Sums& sums) {
  const auto n = static_cast<double>(sums.pairs);
  const auto product = [](double one, double other) { return one * other * (1 + 1e-9) + 1e-12; };
  const bool finite = std::isfinite(sums.ad) && std::isfinite(sums.aadd) && std::isfinite(sums.aaad);
  const bool weights = sums.aa >= 0 && sums.aa <= n && sums.aaaa >= 0 && sums.aaaa <= product(sums.aa, 1) &&
                       sums.aa * sums.aa <= product(n, sums.aaaa);
  if (!finite || !weights || sums.aadd < 0 || sums.ad * sums.ad > product(n, sums.aadd) ||
      sums.aaad * sums.aaad > product(sums.aaaa, sums.aadd) || (sums.pairs == 0 && sums.aadd != 0))
    return false;
  pairs_ = sums.pairs;
  sum_ = sums.ad;
  squares_ = sums.aadd;
  weight_ = sums.aa;
  cross_ = sums.aaad;
  fourth_ = sums.aaaa;
  return true;
}

}  // namespace wattle::stats
