// exact_split: splits an integer by weights so that the shares add up exactly.
// Gives    one share per weight; their sum is the total if any weight is positive, otherwise all shares are 0. Each
//          share is the exact quotient rounded up or down (largest remainder; ties favour the earlier share)
// Threads  pure
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wattle::stats {

std::vector<std::uint64_t> split_exactly(std::uint64_t total, std::span<const std::uint64_t> weights);

// Writes into `shares` and reuses its memory; `order` and `remainders` are scratch.
void split_exactly_into(std::uint64_t total, std::span<const std::uint64_t> weights, std::vector<std::uint64_t>& shares,
                        std::vector<std::size_t>& order, std::vector<std::uint64_t>& remainders);

}  // namespace wattle::stats
