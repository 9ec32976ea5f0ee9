// replay_budget: limits how often each placement is learned from: kRatio times on average, for the outcomes since the
// process started. Learning before a restart does not count, because an older version may not have had this limit.
// Units    transitions drawn from the replay
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>

namespace wattle::controller {

class ReplayBudget {
 public:
  static constexpr std::uint64_t kRatio = 32;  // a much higher ratio overfits to noise

  // `settled`: number of outcomes so far; a lower count than before is a restarted count.
  void settle(std::uint64_t settled) {
    if (known_ && settled > settled_) left_ += kRatio * (settled - settled_);
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
