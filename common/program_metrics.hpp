// program_metrics: the metrics of a program's own process on /metrics: wattle_build_info, and process_* metrics of
// Prometheus' client libraries, which the target's job label distinguishes.
// Source   <proc>/self/{stat,limits,fd}
// Units    seconds, bytes, counts
// Errors   none; omits values that cannot be read
// Threads  any
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/dir.hpp"

namespace wattle {

struct ProcessFigures {
  std::optional<double> cpu_s;         // user and system
  std::optional<double> start_wall_s;  // Unix time
  std::optional<std::uint64_t> resident_bytes, open_fds, max_fds;
};

// `proc`: the mount of procfs that shows this process. `boot_wall_s`: common/boot_time.
ProcessFigures read_process(const Dir& proc, double boot_wall_s);
// Text exposition format 0.0.4. `program`: its name without "wattle-", as "agent".
std::string program_metrics(std::string_view program, const ProcessFigures& process);
// Reads the usage of this process from /proc.
std::string program_metrics(std::string_view program);

}  // namespace wattle
