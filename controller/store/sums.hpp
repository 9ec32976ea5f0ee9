// sums: of energy, time and records that end at a bound and stay there, in C++ and in SQL, where a sum of integers beyond 64 bits
//       becomes a rounded one or an error.
// Bound    kMostSum: two of them fit into 64 bits; in microjoules 73,000 years of a kilowatt
// Threads  pure
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace wattle::controller {

inline constexpr std::int64_t kMostSum = std::int64_t{1} << 61;

// What is negative, or was, counts as nothing.
constexpr void add_up(std::int64_t& sum, std::int64_t more) {
  sum = std::min(kMostSum, std::clamp<std::int64_t>(sum, 0, kMostSum) + std::clamp<std::int64_t>(more, 0, kMostSum));
}

// SQL: a sum of two.
std::string at_most(const std::string& sum);
// SQL: of a column of a group, exactly.
std::string summed(const std::string& column);
// SQL: of what an INSERT finds in those columns and brings.
std::string added(std::initializer_list<const char*> columns);
// Those of the ledger.
std::string ledger_added();

}  // namespace wattle::controller
