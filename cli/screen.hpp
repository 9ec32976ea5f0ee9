// screen: what commands that show something until Ctrl-C have in common.
// Errors   signals that cannot be had
// Threads  main only; before any other thread starts, which would else take the signals
#pragma once

#include <chrono>
#include <string_view>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// Cursor home and erase below, so that nothing flickers.
inline constexpr std::string_view kHome = "\x1b[H\x1b[J";

// SIGINT and SIGTERM, waited for.
class StopKeys {
 public:
  static Result<StopKeys> open_();
  // True when one came within this time.
  bool pressed(std::chrono::milliseconds within = std::chrono::milliseconds(0)) const;

 private:
  explicit StopKeys(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace wattle::cli
