// node_terms: the nodes that a pod's spec allows, as label selectors in kubectl's notation.
// Source   spec.nodeSelector, spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
// Gives    selectors, one of which a node must match; none: every node. The name of a node is its label kNodeName
// Ignores  all terms if they are longer than 1 MiB
// Errors   none: unreadable values are left out
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "common/json/value.hpp"

namespace wattle::kube {

inline constexpr const char* kNodeName = "metadata.name";

std::vector<std::string> read_node_terms(const SortedJson& spec);

}  // namespace wattle::kube
