// net_namespaces: established TCP connections of the network namespaces beside the node's own: those of pods and containers.
// Source   <proc>/PID/net/snmp of one process in each. A namespace is told by that file's inode number, of which each has its own: any
//          process may read it, where <proc>/PID/ns/net asks for CAP_SYS_PTRACE and cgroup.procs says 0 in another PID namespace
// Gives    their sum, each once; of each the latest reading, a few ticks old where there are many
// Bounds   processes are listed each kListEvery; of those that are new kLooked are looked at a tick, and kRead namespaces read; kMost
//          are known. No file stays open: it would keep the namespace of a pod that ended
// Errors   none: where other users' processes are hidden (hidepid) only our own namespaces are found; doctor says so (tcp-pods)
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

class NetNamespaces {
 public:
  static constexpr std::size_t kLooked = 256, kRead = 16, kMost = 1024;
  static constexpr Duration kListEvery = std::chrono::seconds(15);

  // `own_file`: the node's own net/snmp, below `proc`; who is in that namespace counts there.
  std::uint64_t read(const Dir& proc, const std::string& own_file, MonoTime now, std::span<char> scratch);
  std::size_t size() const { return namespaces_.size(); }

 private:
  using Pid = std::uint32_t;
  struct Namespace {
    std::uint64_t inode = 0;
    std::vector<Pid> pids;  // a few that are in it, the oldest first
    std::uint64_t established = 0;
  };
  void list(const Dir& proc, MonoTime now);
  // Whose it is, if it is not known yet.
  void look(const Dir& proc, Pid pid);
  bool read_one(const Dir& proc, Namespace& one, std::span<char> scratch);

  std::vector<Namespace> namespaces_;
  std::vector<Pid> looked_;   // processes whose namespace is known, sorted
  std::vector<Pid> to_look_;  // the next one last
  std::uint64_t own_inode_ = 0;
  std::size_t next_ = 0;  // of namespaces_, to be read
  std::uint64_t lists_ = 0;
  bool anew_ = false;  // a namespace was lost with the processes that were known of it: others may be in it
  std::optional<MonoTime> listed_;
};

// Whether processes of others are shown, so that their namespaces can be found.
bool shows_processes(const Dir& proc);

}  // namespace wattle::agent
