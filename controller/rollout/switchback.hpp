// switchback: divides time into blocks of the whole cluster and treats some of them at random. Energy cannot be
// compared in any other way, because pods of both kinds share nodes.
// Draw     the same number of every twenty blocks is treated; the seed and the block's number determine which ones, so
//          that a restart needs only the seed and the start
// Washout  the first minutes of a block are not measured, because placements of the previous block still have an effect
// Time     the wall clock, because it continues across restarts; before the start it is block 0
// Threads  pure functions, values
#pragma once

#include <cstdint>

#include "common/clock.hpp"

namespace wattle::controller {

struct SwitchbackSchedule {
  std::uint64_t seed = 1;
  double share = 0.1;  // treated share, 0.05 to 0.95 in steps of a twentieth
  WallTime began{};
  Duration length = std::chrono::minutes(30);
  Duration washout = std::chrono::minutes(5);
};

struct Block {
  std::uint64_t number = 0;
  bool treated = false;
  bool measured = false;  // after the washout
  Duration left{};        // until the end of the block
};

inline constexpr std::uint64_t kBlockGroup = 20;

bool is_treated(const SwitchbackSchedule& schedule, std::uint64_t number);
Block block_at(const SwitchbackSchedule& schedule, WallTime now);

}  // namespace wattle::controller
