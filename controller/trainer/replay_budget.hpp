// replay_budget: how often placements may be learned from: kRatio times each, on average, for the outcomes that came while this counts.
// What was learned before a restart, perhaps by a version without a bound, takes nothing away.
// Units    transitions drawn from the replay
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>

namespace wattle::controller {

class ReplayBudget {
 public:
  static constexpr std::uint64_t kRatio = 32;  // far more often, and chance is learned by heart

  // `settled`: outcomes so far; a count that is lower than before began anew.
  void heard(std::uint64_t settled) {
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
