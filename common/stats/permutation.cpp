#include "common/stats/permutation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "common/stats/bootstrap.hpp"
#include "common/stats/draws.hpp"

namespace wattle::stats {

double sign_flip_p(std::span<const double> differences) {
  constexpr std::size_t kExact = 13, kDraws = 10'000;
  constexpr std::uint64_t kSignSeed = 20240229;
  const std::size_t n = differences.size();
  assert(n > 0);
  if (!enough_seeds(n)) return 1;
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
  Random random(kSignSeed);
  for (std::size_t k = 0; k < kDraws; ++k) {
    double sum = 0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 64 == 0) signs = random();
      sum += ((signs >> (i % 64)) & 1U) != 0 ? differences[i] : -differences[i];
    }
    hits += std::abs(sum) >= observed ? 1 : 0;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(kDraws + 1);  // counts the observed signs as one draw
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

}  // namespace wattle::stats
