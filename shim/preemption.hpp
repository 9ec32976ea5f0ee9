// preemption: converts between the verb `preempt` of kube-scheduler's extender protocol v1 and an Ask and its answer.
// Source   k8s.io/kube-scheduler/extender/v1: ExtenderPreemptionArgs {"Pod":{...},"NodeNameToVictims":null|{...},
//          "NodeNameToMetaVictims":null|{"n1":{"Pods":[{"UID":"u1"}],"NumPDBViolations":0}}}; the reply is
//          ExtenderPreemptionResult {"NodeNameToMetaVictims":{...}}, a subset of the request. kube-scheduler sends
//          meta victims to an extender that is nodeCacheCapable, and victims with whole pods to others
// Rules    victims and their NumPDBViolations are returned unchanged
// Errors   malformed: not JSON, or both maps are missing; for a pod that is not a valid ask, `ask` is unset
// Threads  pure functions
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "shim/extender.hpp"

namespace wattle::shim {

struct Preemption {
  std::optional<PodAsk> ask;  // candidates are the nodes with victims
  std::vector<std::string> nodes;
  std::vector<std::string> meta_victims;  // JSON for each node
  bool whole_pods = false;                // victims were sent as whole pods
};

Result<Preemption> parse_preemption_args(std::string_view json);

// Returns the victims of the kept nodes.
std::string format_preemption(const Preemption& preemption, std::span<const std::string> kept);

}  // namespace wattle::shim
