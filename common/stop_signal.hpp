// stop_signal: SIGINT, SIGTERM and SIGHUP as a descriptor that a loop can wait on; no handler, no global.
// Source   signalfd; the signals stay blocked in every thread started after open_()
// Errors   io
// Threads  the main thread's: open before starting others, wait and ask there; threads that libraries started before main
//          pass their signals on to it
#pragma once

#include <chrono>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle {

class StopSignal {
 public:
  static Result<StopSignal> open_();
  int fd() const { return fd_.get(); }
  // True once a signal has come; keeps being true.
  bool pending();
  // Waits for a signal at most that long; true if one has come.
  bool wait(std::chrono::nanoseconds timeout);

 private:
  explicit StopSignal(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  bool seen_ = false;
};

}  // namespace wattle
