// sums: saturating sums of energy, time and records, in C++ and in SQL, where a sum of integers beyond 64 bits loses
// precision or fails.
// Bound    kMostSum: two of them fit into 64 bits; in microjoules it is 73,000 years of a kilowatt
// Threads  pure
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace wattle::controller {

inline constexpr std::int64_t kMostSum = std::int64_t{1} << 61;

// Counts negative values as 0.
constexpr void add_up(std::int64_t& sum, std::int64_t more) {
  sum = std::min(kMostSum, std::clamp<std::int64_t>(sum, 0, kMostSum) + std::clamp<std::int64_t>(more, 0, kMostSum));
}

// SQL: the sum of two values.
std::string at_most(const std::string& sum);
// SQL: the exact sum of a grouped column.
std::string summed(const std::string& column);
// SQL: the sum of the existing and the new value of those columns in an INSERT.
std::string added(std::initializer_list<const char*> columns);
// SQL: the same for the columns of the ledger.
std::string ledger_added();

}  // namespace wattle::controller
