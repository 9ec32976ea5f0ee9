#include "controller/decisions/deferrals.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {
constexpr Duration kExpireEvery = std::chrono::seconds(1);
}  // namespace

Duration Deferrals::left(const std::string& pod_uid, Duration permitted, MonoTime now) {
  if (pod_uid.empty() || permitted <= Duration::zero()) return Duration::zero();
  const MonoTime asked = now + std::min(permitted, kLongest);
  const auto found = until_.find(pod_uid);
  if (found == until_.end() && until_.size() >= kMax) return Duration::zero();
  if (found == until_.end() || asked < found->second) until_[pod_uid] = asked;
  return std::max(Duration::zero(), until_.at(pod_uid) - now);
}

void Deferrals::recall(const std::string& pod_uid, MonoTime until) {
  if (pod_uid.empty() || (until_.size() >= kMax && !until_.contains(pod_uid))) return;
  until_[pod_uid] = until;
}

void Deferrals::expire(MonoTime now) {
  if (now - expired_ < kExpireEvery) return;
  expired_ = now;
  std::erase_if(until_, [&](const auto& each) { return now - each.second >= kRemember; });
}

}  // namespace wattle::controller
