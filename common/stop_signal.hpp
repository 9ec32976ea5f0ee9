// stop_signal: SIGINT, SIGTERM and SIGHUP as a descriptor that a loop can wait on; no handler, no global.
// Source   signalfd; the signals stay blocked in every thread that starts after open_()
// Errors   io
// Threads  main thread only: open before starting other threads, wait and poll there; threads that libraries start
//          before main forward their signals to it
#pragma once

#include <chrono>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle {

class StopSignal {
 public:
  static Result<StopSignal> open_();
  int fd() const { return fd_.get(); }
  // True once a signal has arrived; stays true.
  bool pending();
  // Waits for a signal for at most `timeout`; true if one has arrived.
  bool wait(std::chrono::nanoseconds timeout);

 private:
  explicit StopSignal(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  bool seen_ = false;
};

}  // namespace wattle
