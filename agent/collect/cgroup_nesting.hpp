// cgroup_nesting: workloads within workloads, as a cluster of kind within a container or a pod.
// Source   the readings of whole cgroups: the kernel's counters of a cgroup contain those of all cgroups below it
// Gives    the counts that a root has for itself (CPU time, bytes, events): its cgroup's less those of the nearest roots within. The
//          sum over all roots is the outermost cgroup's gain, exactly: what an inner root's counter showed before the outer one's
//          did is taken off the outer root's next interval
// Units    us, bytes
// Order    roots within are read before the root that holds them
// Meaning  memory, pids and pressure are those of the whole cgroup, to which its limits and requests apply, and are not split
// Threads  pure but for the root's own `nesting`
#pragma once

#include <cstdint>
#include <optional>

#include "agent/collect/cgroup_tree.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

// CPU time over the interval, once the tree is settled.
void take_own_usage(CgroupNode& node, WorkloadValues& values);

// `values` are of the whole cgroup, but for CPU time; on return the counts of I/O and of memory events are the root's own.
void take_own_counts(CgroupNode& node, WorkloadValues& values);

}  // namespace wattle::agent
