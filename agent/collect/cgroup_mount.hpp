// cgroup_mount: where the cgroup v2 tree is mounted; hybrid and pure machines alike.
// Source   <proc>/self/mountinfo (of process 1 when the host's /proc is mounted elsewhere), proc_pid_mountinfo(5)
// Errors   not_found when the table has no cgroup2 mount that can be opened
// Threads  pure, except find_
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/roots.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct Cgroup2Mount {
  std::string mount_point;
  std::string root;  // the cgroup at the mount point; "/" when all of the tree is there

  bool operator==(const Cgroup2Mount&) const = default;
};

// Those that show the whole tree first.
std::vector<Cgroup2Mount> parse_mountinfo(std::string_view text);

Result<Dir> open_cgroup_root(const Roots& roots);

}  // namespace wattle::agent
