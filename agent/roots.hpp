// roots: paths of /proc and /sys: this machine's own, those mounted elsewhere in a container, or those of a captured
// tree.
// Threads  values
#pragma once

#include <string>
#include <string_view>

namespace wattle::agent {

struct Roots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string prefix;     // prefix of every other path
  bool captured = false;  // a tree of files: data of the running machine must not be used

  // The running machine's /proc and /sys, mounted below DIR.
  static Roots mounted(const std::string& dir) {
    const std::string base = dir.ends_with('/') ? dir.substr(0, dir.size() - 1) : dir;
    return {base + "/proc", base + "/sys", "", false};
  }
  // DIR/proc and DIR/sys of a captured tree.
  static Roots below(const std::string& dir) {
    Roots roots = mounted(dir);
    roots.prefix = roots.proc.substr(0, roots.proc.size() - 5);
    roots.captured = true;
    return roots;
  }
  // Our own /proc shows our own mounts and network; a host's /proc mounted elsewhere shows those of the host's process
  // 1.
  bool own_proc() const { return proc == "/proc"; }
  // Maps a path from the machine's mount table to its path here.
  std::string resolve(std::string_view path) const {
    if (path == "/sys" || path.starts_with("/sys/")) return sys + std::string(path.substr(4));
    return prefix + std::string(path);
  }
};

}  // namespace wattle::agent
