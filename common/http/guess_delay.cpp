#include "common/http/guess_delay.hpp"

#include <algorithm>
#include <functional>

namespace wattle::http {

std::chrono::milliseconds GuessDelay::wrong(std::string_view peer, MonoTime now) {
  constexpr int kMostMistakes = kFree + static_cast<int>(kMost / kStep);
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[std::hash<std::string_view>()(peer) % slots_.size()];
  const auto forgotten = (now - slot.since) / kForgotten;
  if (slot.mistakes == 0 || forgotten >= slot.mistakes) {
    slot = {0, now};
  } else {
    slot.mistakes -= static_cast<int>(forgotten);
    slot.since += forgotten * kForgotten;
  }
  slot.mistakes = std::min(slot.mistakes + 1, kMostMistakes);
  return kStep * std::max(0, slot.mistakes - kFree);
}

}  // namespace wattle::http
