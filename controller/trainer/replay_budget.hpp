// replay_budget: limits how often each placement is learned from: kRatio times on average, for the outcomes since the
// process started. Learning before a restart does not count, because an older version may not have had this limit.
// Bounds   kPerS transitions a second, which is kRatio times each of four placements a second: where more pods start, a
//          gradient step for every other pod would cost more than their decisions. At most kMost transitions wait; if
//          placements arrive faster for longer than ten minutes, each is learned from fewer times
// Units    transitions drawn from the replay
// Errors   none
// Threads  single owner
#pragma once

#include <algorithm>
#include <cstdint>

namespace wattle::controller {

class ReplayBudget {
 public:
  static constexpr std::uint64_t kRatio = 32;  // a much higher ratio overfits to noise
  static constexpr double kPerS = 4 * kRatio;
  static constexpr std::uint64_t kMost = 600 * 4 * kRatio;  // ten minutes

  // `settled`: number of outcomes so far; a lower count than before is a restarted count.
  void settle(std::uint64_t settled) {
    if (known_ && settled > settled_) left_ = std::min(kMost, left_ + kRatio * (settled - settled_));
    settled_ = settled;
    known_ = true;
  }
  bool empty() const { return left_ == 0; }
  void drawn(std::uint64_t transitions) { left_ -= transitions < left_ ? transitions : left_; }

 private:
  bool known_ = false;
  std::uint64_t settled_ = 0, left_ = 0;
};

}  // namespace wattle::controller
