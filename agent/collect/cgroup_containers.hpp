// cgroup_containers: splits the CPU time of a pod into that of its containers.
// Source   CPU time of the pod's cgroup and of its containers' cgroups, without that of workloads within them
// Gives    the containers that used CPU time, at most kMaxContainers, in descending order of usage; their sum never
//          exceeds the pod's. The remaining time of the pod belongs to its own processes, to containers that existed
//          between two readings, and to containers beyond the bound
// Meaning  the last usage of an ended container is the pod's gain beyond that of its living containers. Containers with
//          the same name are merged
// Threads  pure
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/collect/cgroup_tree.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct ContainerUse {
  std::string_view id;        // of any length
  std::uint64_t used_us = 0;  // over the interval; if it ended, over the previous interval
  bool born = false;          // within the interval: its counter may include time attributed to another
  bool ended = false;
};

// `out` keeps its memory. `uses` is scratch.
void settle_containers(std::vector<ContainerUse>& uses, std::uint64_t gain_us, std::vector<ContainerValues>& out);

// Appends the containers of a pod in the tree, including ended ones.
void find_containers(const CgroupNode& pod, std::vector<ContainerUse>& out);

}  // namespace wattle::agent
