#include "sim/provision/service.hpp"

#include <algorithm>
#include <limits>

namespace wattle::sim::provision {

void Service::arrive(std::uint64_t request, double work_s) {
  if (jobs_.empty()) served_s_ = 0;  // keeps the value small, so that small works stay exact
  jobs_.push_back({served_s_ + work_s, request});
  std::push_heap(jobs_.begin(), jobs_.end());
}

double Service::next_event_s(double now_s) const {
  if (jobs_.empty() || bandwidth.empty()) return std::numeric_limits<double>::infinity();
  const double busy = busy_cores(), each = busy / static_cast<double>(jobs_.size());
  double next_s = std::max(0.0, jobs_.front().served_at - served_s_) / each;
  if (bandwidth.limited()) next_s = std::min(next_s, bandwidth.left_s() / busy);
  return now_s + next_s;
}

void Service::advance(double from_s, double to_s) {
  const double elapsed_s = to_s - from_s;
  if (jobs_.empty() || elapsed_s <= 0) return;
  if (bandwidth.empty()) return;
  const double busy = busy_cores();
  served_s_ += elapsed_s * busy / static_cast<double>(jobs_.size());
  bandwidth.use(elapsed_s * busy);
}

std::optional<std::uint64_t> Service::take_done() {
  if (jobs_.empty() || jobs_.front().served_at - served_s_ > kTiny) return std::nullopt;
  std::pop_heap(jobs_.begin(), jobs_.end());
  const std::uint64_t request = jobs_.back().request;
  jobs_.pop_back();
  return request;
}

void Service::begin_period() {
  if (throttled()) ++throttled_periods_;
  bandwidth.begin_period();
}

}  // namespace wattle::sim::provision
