// preemption: the verb `preempt` of kube-scheduler's extender protocol v1, as text on one side and as an Ask and an answer on the other.
// Source   k8s.io/kube-scheduler/extender/v1: ExtenderPreemptionArgs {"Pod":{...},"NodeNameToVictims":null|{...},
//          "NodeNameToMetaVictims":null|{"n1":{"Pods":[{"UID":"u1"}],"NumPDBViolations":0}}}; the reply is ExtenderPreemptionResult
//          {"NodeNameToMetaVictims":{...}}, a subset of what was sent. kube-scheduler sends meta victims to an extender that is
//          nodeCacheCapable, and victims with whole pods to others
// Rules    victims and their NumPDBViolations are returned as they came
// Errors   malformed: no JSON, or neither map is there; a pod that makes no ask is no error, and `ask` is absent
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
  std::optional<PodAsk> ask;  // its candidates are the nodes with victims
  std::vector<std::string> nodes;
  std::vector<std::string> meta_victims;  // of each node, as JSON
  bool whole_pods = false;                // victims came as whole pods
};

Result<Preemption> parse_preemption_args(std::string_view json);

// The victims of the nodes that are kept.
std::string format_preemption(const Preemption& preemption, std::span<const std::string> kept);

}  // namespace wattle::shim
