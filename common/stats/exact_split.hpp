// exact_split: splits a whole number by weights so that nothing is lost.
// Gives    one share per weight; sum(shares) is the total whenever some weight is positive, else all shares are 0. Each
//          share is the exact quotient rounded up or down (largest remainder; ties go to the earlier)
// Threads  pure
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wattle::stats {

std::vector<std::uint64_t> split_exactly(std::uint64_t total, std::span<const std::uint64_t> weights);

// The same into `shares`, keeping its memory; `order` is scratch.
void split_exactly_into(std::uint64_t total, std::span<const std::uint64_t> weights, std::vector<std::uint64_t>& shares,
                        std::vector<std::size_t>& order, std::vector<std::uint64_t>& remainders);

}  // namespace wattle::stats
