// mounts: what is mounted where, of the kernel's table.
// Source   <proc>/PID/mountinfo, proc_pid_mountinfo(5)
// Errors   lines that are none are left out
// Threads  pure
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wattle {

struct Mount {
  std::string point;
  std::string root;     // what of the file system is at the mount point; "/" when all of it
  std::string type;     // "cgroup2"
  std::string options;  // of the file system itself: for "cgroup" its controllers, "rw,cpu,cpuacct"

  bool operator==(const Mount&) const = default;
};

// Those of this type; those that show the whole file system first.
std::vector<Mount> parse_mountinfo(std::string_view text, std::string_view type);

}  // namespace wattle
