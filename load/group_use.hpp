// group_use: CPU, memory and I/O used by the processes of one group.
// Source   <proc>/PID/stat (proc(5)), <proc>/PID/io; <proc>/net/dev for the loopback, which all processes share
// Units    CPU seconds, bytes
// Errors   read: not_found (no process of the group left), denied (PID/io of another user); parse: no value for a
//          malformed line
// Threads  pure, except read_*
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::load {

struct ProcessStat {
  pid_t group = 0;
  char state = '?';
  std::uint64_t ticks = 0;  // CPU time, including children that were waited for
  std::uint64_t resident_pages = 0;
};
std::optional<ProcessStat> parse_stat(std::string_view text);

struct GroupUse {
  double cpu_s = 0;
  double resident_bytes = 0;  // largest process only, so that shared memory is not counted twice
  std::vector<pid_t> pids;
};
Result<GroupUse> read_group(const Dir& proc, pid_t group);

// CPU seconds of the processes that still exist.
double read_cpu_s(const Dir& proc, const std::vector<pid_t>& pids);

struct Written {
  double bytes = 0;          // bytes passed to write calls
  double storage_bytes = 0;  // the part that went to storage, not to memory file systems
};
// Sums the processes that still exist.
Result<Written> read_written(const Dir& proc, const std::vector<pid_t>& pids);

// Bytes that an interface has received so far, from the text of net/dev.
std::optional<std::uint64_t> parse_received(std::string_view net_dev, std::string_view interface);

}  // namespace wattle::load
