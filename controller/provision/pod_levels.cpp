#include "controller/provision/pod_levels.hpp"

#include "common/actuation.hpp"

namespace wattle::controller {
namespace {

// Returns the level to report to the actuator; empty if none.
std::string_view level_reported(const kube::Pod& pod) {
  if (pod.ended || pod.node_name.empty()) return {};
  if (pod.provision == kube::PodProvision::requests) return {};
  if (pod.provision == kube::PodProvision::limits && pod.requests_set) return to_string(kube::PodProvision::suggest);
  return to_string(pod.provision);
}

}  // namespace

void PodLevels::described(const kube::Pod& pod) {
  left(pod.uid);
  const std::string_view level = level_reported(pod);
  if (level.empty()) return;
  auto& reported = reported_[pod.node_name];
  if (reported.size() >= actuation::kMaxWorkloads) return;
  reported.emplace(pod.uid, level);
  node_of_[pod.uid] = pod.node_name;
}

void PodLevels::left(const std::string& uid) {
  const auto found = node_of_.find(uid);
  if (found == node_of_.end()) return;
  const auto at = reported_.find(found->second);
  at->second.erase(uid);
  if (at->second.empty()) reported_.erase(at);
  node_of_.erase(found);
}

std::map<std::string, std::string> PodLevels::of(const std::string& node) const {
  const auto found = reported_.find(node);
  return found == reported_.end() ? std::map<std::string, std::string>() : found->second;
}

}  // namespace wattle::controller
