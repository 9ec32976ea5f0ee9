#include "common/stats/exact_split.hpp"

#include <algorithm>

namespace wattle::stats {

namespace {
__extension__ using U128 = unsigned __int128;
}

void split_exactly_into(std::uint64_t total, std::span<const std::uint64_t> weights, std::vector<std::uint64_t>& shares,
                        std::vector<std::size_t>& order, std::vector<std::uint64_t>& remainders) {
  shares.assign(weights.size(), 0);
  U128 sum = 0;
  for (const auto weight : weights) sum += weight;
  if (sum == 0 || total == 0) return;
  // Remainders are below `sum`, which may need more than 64 bits, so they are shifted to fit.
  remainders.resize(weights.size());
  order.clear();
  unsigned shift = 0;
  while ((sum >> shift) > ~std::uint64_t{0}) ++shift;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;  // gets nothing
    order.push_back(i);
    const U128 product = static_cast<U128>(total) * weights[i];
    shares[i] = static_cast<std::uint64_t>(product / sum);
    remainders[i] = static_cast<std::uint64_t>((product % sum) >> shift);
    given += shares[i];
  }
  std::uint64_t left = total - given;  // fewer than there are positive weights
  if (left == 0) return;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (const auto i : order) {
    if (left == 0) break;
    ++shares[i];
    --left;
  }
}

std::vector<std::uint64_t> split_exactly(std::uint64_t total, std::span<const std::uint64_t> weights) {
  std::vector<std::uint64_t> shares, remainders;
  std::vector<std::size_t> order;
  split_exactly_into(total, weights, shares, order, remainders);
  return shares;
}

}  // namespace wattle::stats
