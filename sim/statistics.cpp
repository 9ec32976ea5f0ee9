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

}  // namespace wattle::sim
