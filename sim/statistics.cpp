#include "sim/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
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

double sign_flip_p(std::span<const double> differences) {
  const std::size_t n = differences.size();
  assert(n > 0);
  constexpr std::size_t kExact = 13;
  const double observed = std::abs(mean(differences)) * static_cast<double>(n) * (1 - 1e-12);
  const auto as_far = [&](std::uint64_t signs) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += ((signs >> (i % 64)) & 1U) != 0 ? differences[i] : -differences[i];
    return std::abs(sum) >= observed;
  };
  std::size_t hits = 0;
  if (n <= kExact) {
    for (std::uint64_t signs = 0; signs < (std::uint64_t{1} << n); ++signs) hits += as_far(signs) ? 1 : 0;
    return static_cast<double>(hits) / static_cast<double>(std::uint64_t{1} << n);
  }
  Random random(kBootstrapSeed);
  for (std::size_t k = 0; k < kResamples; ++k) {
    double sum = 0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 64 == 0) signs = random();
      sum += ((signs >> (i % 64)) & 1U) != 0 ? differences[i] : -differences[i];
    }
    hits += std::abs(sum) >= observed ? 1 : 0;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(kResamples + 1);  // the observed signs are one draw
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double highest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    highest = std::max(highest, std::min(1.0, p[order[rank]] * static_cast<double>(p.size() - rank)));
    adjusted[order[rank]] = highest;
  }
  return adjusted;
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

std::optional<Interval> iqm_ratio(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size() && !a.empty());
  const double base = interquartile_mean(b);
  if (base == 0) return std::nullopt;
  Random random(kBootstrapSeed);
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
  std::sort(ratios.begin(), ratios.end());
  return Interval{interquartile_mean(a) / base - 1, ratios[ratios.size() / 40],
                  ratios[ratios.size() - 1 - ratios.size() / 40]};
}

}  // namespace wattle::sim
