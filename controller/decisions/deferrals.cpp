#include "controller/decisions/deferrals.hpp"

#include <algorithm>

namespace wattle::controller {

Duration Deferrals::left(const std::string& pod_uid, Duration permitted, MonoTime now) {
  if (pod_uid.empty() || permitted <= Duration::zero()) return Duration::zero();
  const MonoTime asked = now + std::min(permitted, kLongest);
  const auto found = until_.find(pod_uid);
  if (found == until_.end() && until_.size() >= kMax) return Duration::zero();
  if (found == until_.end() || asked < found->second) set(pod_uid, asked);
  return std::max(Duration::zero(), until_.at(pod_uid) - now);
}

void Deferrals::recall(const std::string& pod_uid, MonoTime until) {
  if (pod_uid.empty() || (until_.size() >= kMax && !until_.contains(pod_uid))) return;
  set(pod_uid, until);
}

void Deferrals::expire(MonoTime now) {
  while (!in_order_.empty() && now - in_order_.begin()->first >= kRemember) {
    until_.erase(in_order_.begin()->second);
    in_order_.erase(in_order_.begin());
  }
}

void Deferrals::set(const std::string& pod_uid, MonoTime until) {
  const auto [found, fresh] = until_.emplace(pod_uid, until);
  if (!fresh) {
    in_order_.erase({found->second, pod_uid});
    found->second = until;
  }
  in_order_.emplace(until, pod_uid);
}

}  // namespace wattle::controller
