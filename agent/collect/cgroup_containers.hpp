// cgroup_containers: what each container of a pod used of what the pod did.
// Source   CPU time of the pod's cgroup and of its containers' below, less what workloads within them used
// Gives    those that used anything, at most kMaxContainers, the most used first; together never more than the pod. What is no
//          container's is the pod's rest: its own processes, containers that lived between two readings, and those beyond the bound
// Meaning  what a container that ended still used is what the pod gained beyond the living ones. Of one name are one
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
  std::uint64_t used_us = 0;  // over the interval; of one that ended over the interval before
  bool born = false;          // within the interval: its counter may hold what was told of another
  bool ended = false;
};

// `out` keeps its memory. `uses` is scratch.
void settle_containers(std::vector<ContainerUse>& uses, std::uint64_t gain_us, std::vector<ContainerValues>& out);

// Of a pod in the tree, appended; ended ones too.
void find_containers(const CgroupNode& pod, std::vector<ContainerUse>& out);

}  // namespace wattle::agent
