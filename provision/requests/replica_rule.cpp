#include "provision/requests/replica_rule.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {
constexpr double kReplicaMinute_s = 60;
}

void ReplicaRule::learn(const ReplicaMinute& minute) {
  const double requests = minute.rate_rps * kReplicaMinute_s;
  if (requests < options_.least_requests) return;
  if (minute.used_cores) {
    const double kept = 1 - 1 / options_.memory_minutes;
    core_s_ = kept * core_s_ + *minute.used_cores * kReplicaMinute_s;
    requests_ = kept * requests_ + requests;
    ++minutes_;
  }
  if (!minute.late_ratio || minutes_ < options_.least_minutes) return;
  // Lateness with too few replicas does not affect the aim.
  const double offered_cores = aim_ratio_ * minute.request_cores * static_cast<double>(minute.replicas);
  const bool enough = minute.rate_rps * core_s_ / requests_ <= offered_cores;
  const bool late = *minute.late_ratio > options_.late_ratio;
  if (late && !enough) return;
  aim_ratio_ = std::clamp(aim_ratio_ * (late ? options_.aim_down : options_.aim_up), options_.least_aim_ratio,
                          options_.aim_ratio);
}

void ReplicaRule::add(const ReplicaMinute& minute, double now_s) {
  const auto sound = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!sound(minute.rate_rps) || !sound(minute.used_cores.value_or(0)) || !sound(minute.request_cores) ||
      !sound(minute.late_ratio.value_or(0)) || minute.replicas == 0)
    return;
  if (!forecast_.add(minute.rate_rps, now_s)) return;
  rate_rps_ = minute.rate_rps;
  learn(minute);
  next_.reset();
  const auto expected = forecast_.next();
  if (!expected) wanted_.clear();  // as after a gap: the earlier numbers are outdated
  if (!expected || minutes_ < options_.least_minutes || !(core_s_ > 0) || !(minute.request_cores > 0)) return;
  SuggestedReplicas next;
  next.expected = *expected;
  next.core_s_per_request = core_s_ / requests_;
  next.aim_ratio = aim_ratio_;
  next.replica_rps = aim_ratio_ * minute.request_cores / next.core_s_per_request;
  const double wanted =
      std::clamp(std::ceil(expected->high_rps / next.replica_rps), 1.0, static_cast<double>(options_.most));
  wanted_.push_back(static_cast<std::size_t>(wanted));
  if (wanted_.size() > options_.down_minutes) wanted_.pop_front();
  next.replicas = std::max({*std::ranges::max_element(wanted_), minute.least, std::size_t{1}});
  if (wanted_.size() < options_.down_minutes) next.replicas = std::max(next.replicas, minute.replicas);
  next_ = next;
}

}  // namespace wattle::placement
