// guess_delay: delays answers to wrong tokens. A peer's first few mistakes cost nothing; each further one delays its
// answer longer, up to two seconds.
// Rule     a right token is answered at once, even after wrong ones from the same address, so that guessing locks no
//          operator out. One mistake expires every ten seconds
// Memory   constant: peers share slots by hash; a shared slot only delays answers to wrong tokens
// Errors   none
// Threads  any
#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <string_view>

#include "common/clock.hpp"

namespace wattle::http {

class GuessDelay {
 public:
  static constexpr int kFree = 5;
  static constexpr std::chrono::milliseconds kStep{250}, kMost{2000};
  static constexpr std::chrono::seconds kForgotten{10};  // time after which one mistake expires
  // Counts a wrong token and returns the delay of its answer.
  std::chrono::milliseconds wrong(std::string_view peer, MonoTime now);

 private:
  struct Slot {
    int mistakes = 0;
    MonoTime since{};  // time of the last decay
  };
  std::mutex mutex_;
  std::array<Slot, 256> slots_{};
};

}  // namespace wattle::http
