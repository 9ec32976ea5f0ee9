// cgroup_mount: where the cgroup v2 tree is mounted; hybrid and pure machines alike.
// Source   <proc>/self/mountinfo (of process 1 when the host's /proc is mounted elsewhere), proc_pid_mountinfo(5)
// Errors   not_found when the table has no cgroup2 mount that can be opened
// Threads  any
#pragma once

#include <vector>

#include "agent/roots.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

Result<Dir> open_cgroup_root(const Roots& roots);
// The hierarchies of cgroup v1 that are mounted beside it, or alone.
std::vector<Dir> open_v1_roots(const Roots& roots);

}  // namespace wattle::agent
