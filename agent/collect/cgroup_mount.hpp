// cgroup_mount: finds the mounted cgroup hierarchies, and the one whose cgroups are the workloads.
// Source   <proc>/self/mountinfo (of process 1 if the host's /proc is mounted elsewhere), proc_pid_mountinfo(5)
// Errors   not_found if the table has no suitable mount that can be opened
// Threads  any
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/roots.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// Opens cgroup v2.
Result<Dir> open_cgroup_root(const Roots& roots);
// Opens the hierarchy of cgroup v1 that has the controller, which v2 then cannot have.
std::optional<Dir> open_v1_root(const Roots& roots, std::string_view controller);

inline constexpr const char* kUse_v2 =
    "boot with systemd.unified_cgroup_hierarchy=1, and use the systemd cgroup driver in the kubelet and the runtime";

// The hierarchy whose cgroups are the workloads.
struct CgroupTop {
  Dir dir;
  bool v1 = false;
  std::optional<std::string> pod;  // path of a pod, if it was looked for and found
};
// Opens cgroup v2; if v2 is not mounted, or if pods are only on cgroup v1, the hierarchy of cpuacct, or else that of
// memory, pids, blkio or cpu. A pod without processes does not count: its cgroups were left behind.
Result<CgroupTop> open_cgroup_top(const Roots& roots);
// Opens the hierarchy of cgroup v1 as above, if it has pods and v2 has none.
std::optional<CgroupTop> open_v1_pods(const Roots& roots);

}  // namespace wattle::agent
