// cgroup: what each workload root used over the interval.
// Source   cpu.stat, memory.current, pids.current, io.stat, *.pressure of cgroup v2, as far as the kernel offers them;
// kept open Gives    one WorkloadReading per living root, and one, marked `ended`, per root that went since the tick
// before. What an ended
//          root still used is what its parent's counter gained beyond the living children's gains
// Units    us, bytes
// Errors   a file that is missing is absent; ENODEV ends the cgroup. A first sight gives no rate, except of a cgroup
// that was
//          born within the interval: its counters began at 0 then
// Cost     1 fstat per directory, 1 pread per file and root;  Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/collect/cgroup_tree.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct IoTotals {
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};

// Summed over devices; a device whose line is malformed counts nothing.
IoTotals parse_io_stat(std::string_view text);

struct WorkloadCounters {
  std::optional<std::uint64_t> cpu_usage_us;
  std::optional<IoTotals> io;
  PressureTotals pressure;
};

struct WorkloadReading {
  WorkloadValues values;
  WorkloadCounters raw;  // since the cgroup was made
  std::string path;
};

struct CgroupReadings {
  std::vector<WorkloadReading> workloads;
  std::optional<std::uint64_t> total_usage_us;        // of the whole tree, cumulative
  std::optional<std::uint64_t> total_usage_delta_us;  // over the interval
};

class CgroupCollector {
 public:
  explicit CgroupCollector(CgroupTree tree) : tree_(std::move(tree)) {}
  // `cores` bounds what a newborn can have used.
  void read(CgroupReadings& out, const Clock& clock, double cores, std::span<char> scratch);
  const CgroupTree& tree() const { return tree_; }

 private:
  struct State {
    MonoTime at;
    WorkloadReading last;
    std::uint64_t tick = 0;  // when it was last seen
    std::uint64_t last_delta_us = 0;
  };
  void read_node(CgroupNode& node, CgroupNode* parent, const Clock& clock, std::span<char> scratch);
  bool read_usage(CgroupNode& node, std::span<char> scratch);
  void read_root(CgroupNode& node, const Clock& clock, std::span<char> scratch);
  void settle_dead(CgroupNode& node);

  CgroupTree tree_;
  std::unordered_map<std::uint64_t, State> states_;
  CgroupReadings* out_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t tick_ = 0;
  double newborn_limit_us_ = 0;
  MonoTime last_at_;
  std::unordered_map<std::uint64_t, std::uint64_t> dead_usage_us_;
};

}  // namespace wattle::agent
