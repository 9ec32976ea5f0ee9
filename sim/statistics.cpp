#include "sim/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "sim/random.hpp"

namespace wattle::sim {

namespace {

constexpr std::size_t kResamples = 10'000;
constexpr std::uint64_t kBootstrapSeed = 20240229;

Interval bootstrap(const std::vector<double>& values) {
  Random random(kBootstrapSeed);
  std::vector<double> means;
  means.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < values.size(); ++k) sum += values[pick(random, values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::sort(means.begin(), means.end());
  return {mean(values), means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
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
  return bootstrap(differences);
}

Interval paired_ratio(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size() && !a.empty());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i] - 1);
  return bootstrap(ratios);
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
  Random random(kBootstrapSeed);
  std::vector<double> means;
  for (std::size_t i = 0; i < kResamples; ++i) {
    drawn.clear();
    for (const auto& stratum : strata)
      for (std::size_t k = 0; k < stratum.size(); ++k) drawn.push_back(stratum[pick(random, stratum.size())]);
    means.push_back(interquartile_mean(drawn));
  }
  std::sort(means.begin(), means.end());
  return {interquartile_mean(all), means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
}

}  // namespace wattle::sim
