#include "shim/breaker.hpp"

#include <algorithm>

namespace wattle::shim {

std::string_view to_string(BreakerState state) {
  constexpr std::string_view kNames[] = {"closed", "open", "half_open"};
  return kNames[static_cast<std::size_t>(state)];
}

void Breaker::open() {
  state_ = BreakerState::open;
  opened_at_ = clock_.mono();
  missed_ = 0;
  pause_ = std::clamp(2 * pause_, options_.first_pause, options_.longest_pause);
}

void Breaker::answered() {
  const std::lock_guard lock(mutex_);
  if (state_ != BreakerState::closed) return;
  missed_ = 0;
  pause_ = Duration(0);
}

void Breaker::missed() {
  const std::lock_guard lock(mutex_);
  if (state_ != BreakerState::closed || ++missed_ < options_.misses) return;
  ++times_opened_;
  open();
}

bool Breaker::begin_probe() {
  const std::lock_guard lock(mutex_);
  if (state_ != BreakerState::open || clock_.mono() - opened_at_ < pause_) return false;
  state_ = BreakerState::half_open;
  return true;
}

void Breaker::end_probe(bool was_answered) {
  const std::lock_guard lock(mutex_);
  if (state_ != BreakerState::half_open) return;
  if (was_answered)
    state_ = BreakerState::closed;
  else
    open();
}

BreakerState Breaker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::uint64_t Breaker::times_opened() const {
  const std::lock_guard lock(mutex_);
  return times_opened_;
}

}  // namespace wattle::shim
