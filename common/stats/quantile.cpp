#include "common/stats/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattle::stats {
namespace {

// Needs at least one value.
std::size_t nearest_rank(std::size_t count, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count)));
  return std::clamp<std::size_t>(rank, 1, count) - 1;
}

}  // namespace

std::optional<double> quantile_of_sorted(std::span<const double> sorted, double share) {
  if (sorted.empty()) return std::nullopt;
  return sorted[nearest_rank(sorted.size(), share)];
}

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(nearest_rank(values.size(), share));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace wattle::stats
