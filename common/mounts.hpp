// mounts: finds mounts in the kernel's mount table.
// Source   <proc>/PID/mountinfo, proc_pid_mountinfo(5)
// Errors   skips malformed lines
// Threads  pure
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wattle {

struct Mount {
  std::string point;
  std::string root;     // mounted directory of the file system; "/": the whole file system
  std::string type;     // "cgroup2"
  std::string options;  // super options; for "cgroup" its controllers, "rw,cpu,cpuacct"

  bool operator==(const Mount&) const = default;
};

// Returns the mounts of this type; those that show the whole file system come first.
std::vector<Mount> parse_mountinfo(std::string_view text, std::string_view type);

}  // namespace wattle
