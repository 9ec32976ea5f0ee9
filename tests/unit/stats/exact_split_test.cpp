// exact_split: an exact split loses nothing, and gives each its quotient rounded up or down.
#include "common/stats/exact_split.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

using namespace wattle::stats;

namespace {
std::uint64_t sum_of(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}
}  // namespace

TEST_CASE("shares add up to the total for any weights, and a zero weight gets nothing") {
  CHECK(rc::check([](std::uint64_t total, const std::vector<std::uint64_t>& weights) {
    const auto shares = split_exactly(total, weights);
    RC_ASSERT(shares.size() == weights.size());
    const bool any = std::any_of(weights.begin(), weights.end(), [](auto w) { return w > 0; });
    RC_ASSERT(sum_of(shares) == (any ? total : 0));
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] == 0) RC_ASSERT(shares[i] == 0U);
  }));
}

TEST_CASE("a share is its exact quotient rounded up or down") {
  CHECK(rc::check([] {
    const auto total = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000'000);
    const auto weights = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 1'000'000)));
    const auto shares = split_exactly(total, weights);
    const std::uint64_t all = sum_of(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::uint64_t floor = total * weights[i] / all;
      RC_ASSERT(shares[i] == floor || shares[i] == floor + 1);
    }
  }));
}

TEST_CASE("the largest remainders are rounded up") {
  CHECK(split_exactly(10, std::vector<std::uint64_t>{1, 1, 1}) == std::vector<std::uint64_t>{4, 3, 3});
  CHECK(split_exactly(10, std::vector<std::uint64_t>{6, 1, 6}) == std::vector<std::uint64_t>{5, 1, 4});
  CHECK(split_exactly(3, std::vector<std::uint64_t>{}).empty());
}

TEST_CASE("a split does not change when all weights are multiplied by the same factor") {
  CHECK(rc::check([] {
    const auto total = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
    const auto weights = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 1'000'000));
    const auto times = *rc::gen::inRange<std::uint64_t>(1, 1000);
    std::vector<std::uint64_t> larger = weights;
    for (std::uint64_t& weight : larger) weight *= times;
    RC_ASSERT(split_exactly(total, weights) == split_exactly(total, larger));
  }));
}
