// cgroup_mount: finds the mount of the cgroup v2 tree, on hybrid and pure machines.
// Source   <proc>/self/mountinfo (of process 1 if the host's /proc is mounted elsewhere), proc_pid_mountinfo(5)
// Errors   not_found if the table has no cgroup2 mount that can be opened
// Threads  any
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/roots.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

Result<Dir> open_cgroup_root(const Roots& roots);
// Opens the mounted hierarchies of cgroup v1, in addition to v2 or alone.
std::vector<Dir> open_v1_roots(const Roots& roots);
// Opens the hierarchy of cgroup v1 that has the controller, which v2 then cannot have.
std::optional<Dir> open_v1_root(const Roots& roots, std::string_view controller);

}  // namespace wattle::agent
