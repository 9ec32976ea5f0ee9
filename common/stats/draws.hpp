// draws: random draws that do not depend on the standard library, so that a seed gives the same bytes everywhere.
// Errors   none; preconditions are in the comments
// Threads  as the generator that is passed in
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace wattle::stats {

using Random = std::mt19937_64;

inline double unit_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }  // [0, 1)
inline double uniform(Random& random) { return unit_of(random()); }
inline double uniform(Random& random, double low, double high) { return low + (high - low) * uniform(random); }
inline double exponential(Random& random, double mean) { return -mean * std::log(1.0 - uniform(random)); }

// Requires n > 0.
inline std::size_t pick(Random& random, std::size_t n) {
  return static_cast<std::size_t>(uniform(random) * static_cast<double>(n));
}

}  // namespace wattle::stats
