// cgroup_mount: where the cgroup v2 tree is mounted; hybrid and pure machines alike.
// Source   <proc>/self/mountinfo (of process 1 when the host's /proc is mounted elsewhere), proc_pid_mountinfo(5)
// Errors   not_found when the table has no cgroup2 mount that can be opened
// Threads  any
#pragma once

#include "agent/roots.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

Result<Dir> open_cgroup_root(const Roots& roots);

}  // namespace wattle::agent
