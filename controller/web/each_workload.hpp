// each_workload: visits the workloads of all nodes in steps.
// Threads  the loop's
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "controller/state/cluster_state.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {

// Calls each(node name, node, uid, workload), kItemsPerStep times in a step.
template <class Each>
Steps each_workload(const std::map<std::string, Node>& nodes, Each each) {
  using Workloads = decltype(Node::workloads);
  struct At {
    std::map<std::string, Node>::const_iterator node;
    std::optional<typename Workloads::const_iterator> workload;  // no value: the node's first
  };
  return [&nodes, each = std::move(each), at = std::optional<At>()]() mutable {
    if (!at) at = At{nodes.begin(), {}};
    for (std::size_t i = 0; i < kItemsPerStep && at->node != nodes.end(); ++i) {
      const auto& [name, node] = *at->node;
      if (!at->workload) at->workload = node.workloads.begin();
      if (*at->workload != node.workloads.end()) {
        each(name, node, (*at->workload)->first, (*at->workload)->second);
        ++*at->workload;
        continue;
      }
      ++at->node;
      at->workload.reset();
    }
    return at->node != nodes.end();
  };
}

}  // namespace wattle::controller
