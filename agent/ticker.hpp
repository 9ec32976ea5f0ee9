// ticker: ticks at absolute times of CLOCK_MONOTONIC, so that a late tick does not make the next one late.
// Source   timerfd
// Errors   io if the kernel provides no timer
// Threads  single owner
#pragma once

#include <cstdint>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

class Ticker {
 public:
  static Result<Ticker> start(Duration period);
  // Changes the period. The next tick is a period from now.
  Status set(Duration period);
  Duration period() const { return period_; }
  // Readable when a tick is due.
  int fd() const { return timer_.get(); }
  // Ticks due since the last call; 0 if none.
  std::uint64_t due();
  // Waits for the next tick; returns false if `stop_fd` became readable first (-1: none).
  bool wait(int stop_fd);

 private:
  explicit Ticker(Fd timer) : timer_(std::move(timer)) {}
  Fd timer_;
  Duration period_{};
};

// Readable after SIGINT, SIGTERM or SIGHUP, which this call blocks in this thread and those that it starts.
Result<Fd> stop_signals();

}  // namespace wattle::agent
