// switchback: time is cut into blocks of the whole cluster, some of which are treated at random: only so can energy be compared,
// since nodes that are shared cannot tell whose pod made them draw it.
// Draw     of every twenty blocks the same number is treated, which ones follows from the seed and the block's number: what a
//          restart remembers is the seed and the beginning
// Washout  the first minutes of a block, in which the last one's placements still come
// Time     the wall clock, since it outlives the process; before the beginning it is block 0
// Threads  pure functions, values
#pragma once

#include <cstdint>

#include "common/clock.hpp"

namespace wattle::controller {

struct SwitchbackSchedule {
  std::uint64_t seed = 1;
  double share = 0.1;  // treated, 0.05 to 0.95 in steps of a twentieth
  WallTime began{};
  Duration length = std::chrono::minutes(30);
  Duration washout = std::chrono::minutes(5);
};

struct Block {
  std::uint64_t number = 0;
  bool treated = false;
  bool measured = false;  // the time is behind the washout
  Duration left{};        // until it ends
};

inline constexpr std::uint64_t kBlockGroup = 20;

bool is_treated(const SwitchbackSchedule& schedule, std::uint64_t number);
Block block_at(const SwitchbackSchedule& schedule, WallTime now);

}  // namespace wattle::controller
