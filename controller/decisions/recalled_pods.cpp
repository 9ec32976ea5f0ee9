#include "controller/decisions/recalled_pods.hpp"

#include "controller/state/sane_request.hpp"

#include <utility>

namespace wattle::controller {

void RecalledPods::add(const PodFacts& pod) {
  RecalledPod recalled;
  placement::PodSpec& spec = recalled.spec;
  spec.uid = pod.uid;
  spec.name = pod.name;
  spec.pod_namespace = pod.name_space;
  spec.app = pod.app;
  spec.owner = pod.replica_of;
  spec.request = sane_request(static_cast<double>(pod.cpu_millicores) / 1000, static_cast<double>(pod.memory_bytes));
  spec.daemonset = pod.described && pod.app.empty();  // an API server names the application of all others
  recalled.container_ids = pod.container_ids;
  pods_[pod.uid] = std::move(recalled);
}

void RecalledPods::add(const LoggedDecision& entry) {
  const wire::Decision& decision = entry.decision;
  if (decision.placed_on.empty() || decision.pod_uid.empty()) return;
  Placed placed{decision.placed_on, decision.id, {}, entry.recalled.has_value()};
  if (entry.recalled) placed.spec = *entry.recalled;
  placed.spec.uid = decision.pod_uid;
  placed.spec.name = decision.pod_name;
  placed.spec.pod_namespace = decision.pod_namespace;
  placed_[decision.pod_uid] = std::move(placed);
}

std::optional<RecalledPod> RecalledPods::take(const std::string& uid, const std::string& node) {
  auto pod = pods_.extract(uid);
  const auto placed = placed_.extract(uid);
  const bool here = !placed.empty() && placed.mapped().node == node;
  if (pod.empty() && !here) return std::nullopt;
  RecalledPod recalled = pod.empty() ? RecalledPod{} : std::move(pod.mapped());
  if (!here) return recalled;
  const Placed& decided = placed.mapped();
  recalled.decision_id = decided.id;
  if (!pod.empty() && !decided.whole) return recalled;
  // An API server may have changed the requests since: the store's row of the pod is newer.
  const placement::Resources requested = recalled.spec.request;
  const bool known = !recalled.spec.app.empty();
  recalled.spec = decided.spec;
  if (known) recalled.spec.request = requested;
  return recalled;
}

}  // namespace wattle::controller
