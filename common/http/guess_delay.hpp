// guess_delay: how long the answer to a wrong token waits: nothing for a peer's first mistakes, then longer with each, up to two seconds.
// Rule     the right token is answered at once, whatever came before it from the same address: no guessing locks an operator out. A mistake
//          is forgotten after ten seconds
// Memory   constant: peers share slots by a hash. A shared slot delays only answers to wrong tokens
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
  static constexpr std::chrono::seconds kForgotten{10};  // one mistake
  // Counts a wrong token and gives the delay of its answer.
  std::chrono::milliseconds wrong(std::string_view peer, MonoTime now);

 private:
  struct Slot {
    int mistakes = 0;
    MonoTime since{};  // of the last decay
  };
  std::mutex mutex_;
  std::array<Slot, 256> slots_{};
};

}  // namespace wattle::http
