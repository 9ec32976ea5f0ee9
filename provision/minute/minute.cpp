#include "provision/minute/minute.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::models::provision {

namespace {

double over(double a, double b, double otherwise) { return b > 0 ? a / b : otherwise; }

}  // namespace

double granted_s(double limit_cores, double elapsed_s, std::uint64_t writes) {
  return limit_cores * (elapsed_s + kTickPeriodS * static_cast<double>(writes));
}

void MinuteWatch::add(const CopyTick& copy) {
  tick_used_s_ += copy.used_s;
  granted_s_ += copy.granted_s;
  if (!copy.runs) return;
  ticks_ += 1;
  throttled_ += copy.throttled ? 1 : 0;
  missed_ += copy.missed_ratio;
  working_gib_ = std::max(working_gib_, copy.working_gib);
}

void MinuteWatch::end_tick(double elapsed_s) {
  used_s_ += tick_used_s_;
  seconds_ += elapsed_s;
  second_used_s_ += tick_used_s_;
  second_s_ += elapsed_s;
  tick_used_s_ = 0;
  // Like provision/student: a second ends when less than half a tick of it is left.
  if (second_s_ < 0.95) return;
  const double cores = second_used_s_ / second_s_;
  peak_cores_ = std::max(peak_cores_, cores);
  sum_cores_ += cores;
  sum_squares_ += cores * cores;
  count_ += 1;
  second_used_s_ = second_s_ = 0;
}

std::optional<double> MinuteWatch::peak_gib() const {
  if (minutes_ < working_sets_gib_.size()) return std::nullopt;
  return *std::max_element(working_sets_gib_.begin(), working_sets_gib_.end());
}

void MinuteWatch::begin_minute() {
  ticks_ = throttled_ = used_s_ = granted_s_ = seconds_ = missed_ = working_gib_ = 0;
  tick_used_s_ = second_used_s_ = second_s_ = peak_cores_ = sum_cores_ = sum_squares_ = count_ = 0;
}

ServiceMinute MinuteWatch::end_minute(const Setting& now, double node_cores) {
  const double used = used_cores(), granted = granted_cores();
  ServiceMinute state;
  state.now = now;
  state.throttled_ratio = over(throttled_, ticks_, 0);
  state.used_over_granted = over(used, granted, 1);
  state.used_over_node = over(used, node_cores * static_cast<double>(now.replicas), 0);
  const double mean = over(sum_cores_, count_, 0);
  const double variance = std::max(0.0, over(sum_squares_, count_, 0) - mean * mean);
  state.deviation_ratio = over(std::sqrt(variance), mean, 0);
  state.peak_ratio = over(peak_cores_, mean, 1);
  state.used_over_last = over(used, last_used_cores_, 1);
  state.missed_ratio = over(missed_, ticks_, 0);
  working_sets_gib_[minutes_++ % working_sets_gib_.size()] = working_gib_;
  state.working_over_peak =
      over(working_gib_, *std::max_element(working_sets_gib_.begin(), working_sets_gib_.end()), 1);
  last_used_cores_ = used;
  begin_minute();
  return state;
}

}  // namespace wattle::models::provision
