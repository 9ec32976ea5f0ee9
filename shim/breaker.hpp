// breaker: stops asking a controller that does not answer, so that its silence costs a few pods their deadline and no more.
// Rules    closed: ask; as many failures in a row as `misses`: open: nobody asks. After a pause one probe in the background
//          (half open) shows whether it answers again: then closed, else another pause. Pauses double up to `longest_pause`,
//          also when it opens anew before any ask was answered; an answered ask makes them short again
// Errors   none
// Threads  any
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "common/clock.hpp"

namespace wattle::shim {

enum class BreakerState { closed, open, half_open };
std::string_view to_string(BreakerState state);

struct BreakerOptions {
  unsigned misses = 3;
  Duration first_pause = std::chrono::milliseconds(100);
  Duration longest_pause = std::chrono::seconds(1);
};

class Breaker {
 public:
  // The clock must outlive it.
  explicit Breaker(const Clock& clock, BreakerOptions options = {}) : clock_(clock), options_(options) {}
  // Otherwise answer without the controller.
  bool may_ask() const { return state() == BreakerState::closed; }
  // How something that was sent while closed ended; what comes later says nothing.
  void answered();
  void missed();
  // True for one caller, who then sends a probe and says how it ended.
  bool begin_probe();
  void end_probe(bool was_answered);

  BreakerState state() const;
  std::uint64_t times_opened() const;

 private:
  void open();
  const Clock& clock_;
  const BreakerOptions options_;
  mutable std::mutex mutex_;  // guards all below
  BreakerState state_ = BreakerState::closed;
  unsigned missed_ = 0;  // in a row
  Duration pause_{0};    // zero: an ask was answered since it opened last
  MonoTime opened_at_{};
  std::uint64_t times_opened_ = 0;
};

}  // namespace wattle::shim
