// net_namespaces: counts established TCP connections in the network namespaces of pods and containers, in addition to
// the node's own.
// Source   <proc>/PID/net/snmp of one process in each. The inode number of that file identifies the namespace: any
//          process may read it, whereas <proc>/PID/ns/net needs CAP_SYS_PTRACE, and cgroup.procs shows 0 in another PID
//          namespace
// Gives    the sum over all namespaces; each with its latest reading, which may be a few ticks old if there are many
//          namespaces
// Bounds   processes are listed every kListEvery. Per tick it examines kLooked new processes and reads kRead
//          namespaces; it keeps kMost namespaces. No file stays open, because that would keep the namespace of an ended
//          pod alive
// Errors   none: if other users' processes are hidden (hidepid), only our own namespaces are found; doctor reports it
//          (tcp-pods)
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

  // `own_file`: the node's own net/snmp, below `proc`; processes in that namespace are counted there.
  std::uint64_t read(const Dir& proc, const std::string& own_file, MonoTime now, std::span<char> scratch);
  std::size_t size() const { return namespaces_.size(); }

 private:
  using Pid = std::uint32_t;
  struct Namespace {
    std::uint64_t inode = 0;
    std::vector<Pid> pids;  // a few of its processes, the oldest first
    std::uint64_t established = 0;
  };
  void list(const Dir& proc, MonoTime now);
  // Finds the namespace of a process, if it is still unknown.
  void look(const Dir& proc, Pid pid);
  bool read_one(const Dir& proc, Namespace& one, std::span<char> scratch);

  std::vector<Namespace> namespaces_;
  std::vector<Pid> looked_;   // processes whose namespace is known, sorted
  std::vector<Pid> to_look_;  // the next one last
  std::uint64_t own_inode_ = 0;
  std::size_t next_ = 0;  // index of the next one to read
  std::uint64_t lists_ = 0;
  bool again_ = false;  // a namespace lost all its known processes: others may be in it
  std::optional<MonoTime> listed_;
};

// Returns whether other users' processes are visible, so that their namespaces can be found.
bool shows_processes(const Dir& proc);

}  // namespace wattle::agent
