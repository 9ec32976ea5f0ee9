#include "placement/sleep/transition_meter.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement::sleep {

void TransitionMeter::add(const PowerReading& reading) {
  if (!std::isfinite(reading.energy_j) || !std::isfinite(reading.power_w) || reading.power_w < 0) return gap();
  if ((last_ && reading.at <= last_->at) || (woken_ && reading.at <= *woken_)) return;
  if (last_ && begun_ && reading.at > *begun_ && reading.energy_j >= last_->energy_j) {
    const double span_s = seconds(reading.at - last_->at);
    const double part_s = std::min(span_s, seconds(reading.at - *begun_));
    seen_s_ += part_s;
    seen_j_ += (reading.energy_j - last_->energy_j) * part_s / span_s;
  }
  last_ = reading;
  power_w_ = reading.power_w;
}

void TransitionMeter::observe(double power_w) {
  if (!begun_ || !std::isfinite(power_w) || power_w < 0) return;
  observed_w_ += (power_w - observed_w_) / ++observations_;
}

void TransitionMeter::sleeps(MonoTime at) {
  begun_ = at;
  seen_j_ = seen_s_ = observed_w_ = observations_ = 0;
}

void TransitionMeter::wakes(MonoTime at) {
  sleeps(at);
  woken_ = at;
  last_.reset();
  power_w_.reset();
}

std::optional<double> TransitionMeter::end(MonoTime at) {
  if (!begun_) return std::nullopt;
  const double unseen_s = std::max(0.0, seconds(at - *begun_) - seen_s_);
  begun_.reset();
  if (observations_ > 0) return seen_j_ + observed_w_ * unseen_s;
  if (seen_s_ > 0) return seen_j_ + seen_j_ / seen_s_ * unseen_s;
  if (power_w_) return *power_w_ * unseen_s;
  return std::nullopt;
}

}  // namespace wattle::placement::sleep
