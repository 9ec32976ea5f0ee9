// breaker: stops requests to a controller that does not answer, so that an outage costs only a few pods their deadline.
// Rules    closed: requests are sent; after `misses` failures in a row: open: none are sent. After a pause, one
//          background probe (half open) decides: closed if it is answered, otherwise another pause. Pauses double up to
//          `longest_pause`, even if it opens again before any ask was answered; an answered ask resets them
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
  // The clock must outlive this object.
  explicit Breaker(const Clock& clock, BreakerOptions options = {}) : clock_(clock), options_(options) {}
  // If false, the caller answers without the controller.
  bool may_ask() const { return state() == BreakerState::closed; }
  // Report the result of a request that was sent while closed; ignored in other states.
  void answered();
  void missed();
  // Returns true for one caller, which then sends a probe and calls end_probe().
  bool begin_probe();
  void end_probe(bool was_answered);

  BreakerState state() const;
  std::uint64_t times_opened() const;

 private:
  void open();
  const Clock& clock_;
  const BreakerOptions options_;
  mutable std::mutex mutex_;  // guards everything below
  BreakerState state_ = BreakerState::closed;
  unsigned missed_ = 0;  // failures in a row
  Duration pause_{0};    // zero: an ask was answered since it last opened
  MonoTime opened_at_{};
  std::uint64_t times_opened_ = 0;
};

}  // namespace wattle::shim
