// cgroup_nesting: separates the usage of nested workloads, for example a cluster of kind within a container or a pod.
// Source   the readings of whole cgroups: the kernel's counters of a cgroup contain those of all cgroups below it
// Gives    a root's own counts (CPU time, bytes, events): its cgroup's counts minus those of the nearest roots within.
//          The sum over all roots is exactly the gain of the outermost cgroup: if an inner root's counter shows usage
//          before the outer one does, the difference is subtracted from the outer root's next interval
// Units    us, bytes
// Order    inner roots are read before the root that contains them
// Meaning  memory, pids and pressure are not split: they are those of the whole cgroup, to which its limits and
//          requests apply
// Threads  pure, except that it changes the root's own `nesting`
#pragma once

#include "agent/collect/cgroup_tree.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

// Sets the root's own CPU time over the interval. Call after the tree is settled.
void take_own_usage(CgroupNode& node, WorkloadValues& values);

// Reduces the counts of I/O and of memory events in `values` from those of the whole cgroup to the root's own.
void take_own_counts(CgroupNode& node, WorkloadValues& values);

}  // namespace wattle::agent
