#include "controller/state/waiting_pods.hpp"

#include "controller/state/cluster_state.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kPendingFor = std::chrono::seconds(30);

}  // namespace

void WaitingPods::add(const Pod& pod) {
  if (pod.unschedulable && pod.in_flight_to.empty())
    unschedulable_.insert(pod.spec.uid);
  else if (pod.asked && !pod.advised)
    pending_.emplace(pod.asked_at, pod.spec.uid);
  if (!pod.watched && !pod.in_flight_to.empty()) flying_.emplace(pod.in_flight_until, pod.spec.uid);
  if (!pod.watched && pod.in_flight_to.empty()) unplaced_.emplace(pod.asked_at, pod.spec.uid);
  if (pod.watched && !pod.unschedulable && !pod.spec.daemonset && pod.in_flight_to.empty())
    queue_.emplace(pod.number, pod.spec.uid);
}

void WaitingPods::remove(const Pod& pod) {
  pending_.erase({pod.asked_at, pod.spec.uid});
  unschedulable_.erase(pod.spec.uid);
  unplaced_.erase({pod.asked_at, pod.spec.uid});
  flying_.erase({pod.in_flight_until, pod.spec.uid});
  queue_.erase({pod.number, pod.spec.uid});
}

bool WaitingPods::is_pending(const Pod& pod) const {
  return pending_.contains({pod.asked_at, pod.spec.uid}) || unschedulable_.contains(pod.spec.uid);
}

void WaitingPods::expire_pending(MonoTime now) {
  while (!pending_.empty() && now - pending_.begin()->first >= kPendingFor) pending_.erase(pending_.begin());
}

std::vector<std::string> WaitingPods::queue(std::size_t most, const std::string& but) const {
  std::vector<std::string> uids;
  for (const auto& [number, uid] : queue_) {
    if (uids.size() == most) break;
    if (uid != but) uids.push_back(uid);
  }
  return uids;
}

std::optional<std::string> WaitingPods::oldest(const Since& pods, MonoTime before) {
  if (pods.empty() || pods.begin()->first > before) return std::nullopt;
  return pods.begin()->second;
}

}  // namespace wattle::controller
