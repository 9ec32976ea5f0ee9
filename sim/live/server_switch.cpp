#include "sim/live/server_switch.hpp"

#include "placement/sleep/transition_cost.hpp"

namespace wattle::sim::live {

namespace {

// Published for a server that is powered off; they do not depend on its watts when idle.
placement::sleep::TransitionCost published() { return placement::sleep::usual_cost(placement::sleep::Depth::off, 0); }

}  // namespace

double ServerSwitch::shutdown_j() { return published().sleep_j; }
double ServerSwitch::boot_j() { return published().wake_j; }
double ServerSwitch::off_w() { return published().asleep_w; }
double ServerSwitch::boot_s() const { return published().wake_s / speedup_; }

void ServerSwitch::turn_off(MonoTime now) {
  boot_next_ = false;
  if (state_ != State::on) return;
  state_ = State::stopping;
  until_ = now + from_seconds(published().sleep_s / speedup_);
  ++shutdowns_;
}

void ServerSwitch::turn_on(MonoTime now) {
  if (state_ == State::off) return boot(now);
  boot_next_ = state_ == State::stopping;
}

void ServerSwitch::boot(MonoTime now) {
  boot_next_ = false;
  state_ = State::booting;
  until_ = now + from_seconds(boot_s());
  ++boots_;
}

bool ServerSwitch::pass(MonoTime now) {
  if (now < until_) return false;
  const MonoTime at = until_;
  until_ = MonoTime::max();
  if (state_ == State::booting) {
    state_ = State::on;
    return true;
  }
  state_ = State::off;
  if (boot_next_) boot(at);
  return false;
}

double ServerSwitch::power_w() const {
  const placement::sleep::TransitionCost cost = published();
  if (state_ == State::stopping) return cost.sleep_j / cost.sleep_s * speedup_;
  if (state_ == State::booting) return cost.wake_j / cost.wake_s * speedup_;
  return cost.asleep_w;
}

}  // namespace wattle::sim::live
