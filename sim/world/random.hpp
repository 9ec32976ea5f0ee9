// random: draws that are the same with every standard library, so that a seed gives the same bytes everywhere.
// Units    none
// Errors   none; preconditions in the comments
// Threads  as the generator passed in
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

#include "common/stats/draws.hpp"

namespace wattle::sim {

using stats::exponential;
using stats::pick;
using stats::Random;
using stats::uniform;
using stats::unit_of;

// SplitMix64 of two numbers: independent streams from one seed, and noise as a pure function of (source, time).
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// FNV-1a: the same for the same text.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

inline double normal_of(std::uint64_t a, std::uint64_t b) {
  return std::sqrt(-2.0 * std::log(1.0 - unit_of(a))) * std::cos(2.0 * std::numbers::pi * unit_of(b));
}
inline double normal(Random& random) {
  const std::uint64_t a = random();
  return normal_of(a, random());
}

}  // namespace wattle::sim
