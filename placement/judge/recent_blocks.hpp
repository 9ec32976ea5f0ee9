// recent_blocks: the cost differences of two contenders in the newest blocks of decisions, and the time of the last
// comparison. For display only: the gate decides over all blocks (common/stats/network_trial).
// Mean     fades like the gate's: over the newest kMemory blocks, or over all while there are fewer
// Units    of add(); times of the caller's clock
// Errors   none; values that are not finite are ignored
// Threads  value
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "common/clock.hpp"

namespace wattle::placement {

class RecentBlocks {
 public:
  static constexpr std::uint64_t kMemory = 50;
  void add(double difference, MonoTime at) {
    if (!std::isfinite(difference)) return;
    blocks_ = std::min(blocks_ + 1, kMemory);
    mean_ += (std::clamp(difference, -1.0, 1.0) - mean_) / static_cast<double>(blocks_);
    at_ = at;
  }
  double mean() const { return mean_; }  // above 0: the challenger costs more
  std::uint64_t blocks() const { return blocks_; }
  std::optional<MonoTime> at() const { return at_; }  // unset: no block yet
  // Returns false, without a change, if the values are not valid.
  bool restore(double mean, std::uint64_t blocks, MonoTime at) {
    if (!(std::abs(mean) <= 1) || blocks == 0 || blocks > kMemory) return false;
    mean_ = mean;
    blocks_ = blocks;
    at_ = at;
    return true;
  }

 private:
  double mean_ = 0;
  std::uint64_t blocks_ = 0;
  std::optional<MonoTime> at_;
};

}  // namespace wattle::placement
