// group_use: what the processes of one group have used.
// Source   <proc>/PID/stat (proc(5)), <proc>/PID/io; <proc>/net/dev for the loopback, which everybody shares
// Units    CPU seconds, bytes
// Errors   read: not_found (no process of the group is left), denied (PID/io of another user's); parse: absent where a line is none
// Threads  pure but for read_
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::load {

struct ProcessStat {
  pid_t group = 0;
  char state = '?';
  std::uint64_t ticks = 0;  // of CPU, with those of children that were waited for
  std::uint64_t resident_pages = 0;
};
std::optional<ProcessStat> parse_stat(std::string_view text);

struct GroupUse {
  double cpu_s = 0;
  double resident_bytes = 0;  // of the process that has most: what others share with it is not counted twice
  std::vector<pid_t> pids;
};
Result<GroupUse> read_group(const Dir& proc, pid_t group);

// CPU seconds of processes that are there; who has ended counts no more.
double read_cpu_s(const Dir& proc, const std::vector<pid_t>& pids);

struct Written {
  double bytes = 0;          // by write calls
  double storage_bytes = 0;  // of them to storage; none of what is kept in memory
};
// Of processes that are there; who has ended counts no more.
Result<Written> read_written(const Dir& proc, const std::vector<pid_t>& pids);

// Received by an interface so far, from the text of net/dev.
std::optional<std::uint64_t> parse_received(std::string_view net_dev, std::string_view interface);

}  // namespace wattle::load
