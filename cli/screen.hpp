// screen: helpers for commands that run until Ctrl-C.
// Errors   signals cannot be blocked or read
// Threads  main only; call before any other thread starts, because other threads would receive the signals
#pragma once

#include <chrono>
#include <string_view>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// Moves the cursor home and erases everything below it, which avoids flicker.
inline constexpr std::string_view kHome = "\x1b[H\x1b[J";

// Waits for SIGINT and SIGTERM.
class StopKeys {
 public:
  static Result<StopKeys> open_();
  // Returns true if one arrived within this time.
  bool pressed(std::chrono::milliseconds within = std::chrono::milliseconds(0)) const;

 private:
  explicit StopKeys(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace wattle::cli
