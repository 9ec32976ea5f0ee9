#include "common/stats/bootstrap.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/stats/draws.hpp"

namespace wattle::stats {

namespace {

constexpr std::size_t kResamples = 10'000;
constexpr std::uint64_t kSeed = 20240229;

// Interval of the middle 95% of the resampled estimates.
Interval percentile_interval(double estimate, std::vector<double> resampled) {
  std::sort(resampled.begin(), resampled.end());
  const std::size_t cut = resampled.size() / 40;
  return {estimate, resampled[cut], resampled[resampled.size() - 1 - cut]};
}

Interval of_mean(const std::vector<double>& values) {
  if (!enough_seeds(values.size())) return without_range(mean(values));
  Random random(kSeed);
  std::vector<double> means;
  means.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < values.size(); ++k) sum += values[pick(random, values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  return percentile_interval(mean(values), std::move(means));
}

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Interval paired_difference(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size() && !a.empty());
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return of_mean(differences);
}

Interval paired_ratio(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size() && !a.empty());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i] - 1);
  return of_mean(ratios);
}

double interquartile_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double low = n / 4, high = 3 * n / 4;
  double sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto at = static_cast<double>(i);
    sum += sorted[i] * std::max(0.0, std::min(high, at + 1) - std::max(low, at));
  }
  return sum / (high - low);
}

Interval iqm_interval(std::span<const std::vector<double>> strata) {
  std::vector<double> all, drawn;
  for (const auto& stratum : strata) all.insert(all.end(), stratum.begin(), stratum.end());
  if (!enough_seeds(all.size())) return without_range(interquartile_mean(all));
  Random random(kSeed);
  std::vector<double> means;
  for (std::size_t i = 0; i < kResamples; ++i) {
    drawn.clear();
    for (const auto& stratum : strata)
      for (std::size_t k = 0; k < stratum.size(); ++k) drawn.push_back(stratum[pick(random, stratum.size())]);
    means.push_back(interquartile_mean(drawn));
  }
  return percentile_interval(interquartile_mean(all), std::move(means));
}

std::optional<Interval> iqm_ratio(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size() && !a.empty());
  const double base = interquartile_mean(b);
  if (base == 0) return std::nullopt;
  if (!enough_seeds(a.size())) return without_range(interquartile_mean(a) / base - 1);
  Random random(kSeed);
  std::vector<double> mine(a.size()), theirs(a.size()), ratios;
  for (std::size_t i = 0; i < kResamples; ++i) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::size_t at = pick(random, a.size());
      mine[k] = a[at];
      theirs[k] = b[at];
    }
    const double drawn = interquartile_mean(theirs);
    if (drawn != 0) ratios.push_back(interquartile_mean(mine) / drawn - 1);
  }
  return percentile_interval(interquartile_mean(a) / base - 1, std::move(ratios));
}

}  // namespace wattle::stats
