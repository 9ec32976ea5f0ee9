// node_load: CPU headroom of the node, from idle time and pressure. Waiting that a workload's own quota causes does not
// count as pressure.
// Source   /proc/stat (the first lines), /proc/pressure/cpu
// Units    cores; ratios of the time between two readings
// Errors   not_found, malformed; without pressure files only idle time counts
// Cost     2 preads, once a second;  Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle::actuator {

struct CpuTimes {
  std::uint64_t idle = 0, all = 0;  // kernel ticks, summed over CPUs
};
std::optional<CpuTimes> parse_proc_stat(std::string_view text);
// Number of CPUs that are online; no value if the text ends before all of them.
std::optional<double> parse_online_cpus(std::string_view text);

class NodeLoad {
 public:
  // `proc`: a directory like /proc. `cores`: online now; each reading shows those that are online later.
  static Result<NodeLoad> open_(const std::string& proc, double cores);
  // Reads; the headroom is known after the second call. `throttled_us`: cumulative sum over all watched workloads.
  Status read(MonoTime now, std::uint64_t throttled_us);
  std::optional<double> headroom_cores() const { return headroom_cores_; }
  double cores() const { return cores_; }

 private:
  NodeLoad(Dir dir, double cores) : dir_(std::move(dir)), cores_(cores) {}
  Dir dir_;
  double cores_;
  Fd stat_, pressure_;
  std::vector<char> buffer_ = std::vector<char>(64 << 10);  // has room for 900 CPUs
  std::optional<CpuTimes> times_;
  std::optional<std::uint64_t> some_us_;
  std::uint64_t throttled_us_ = 0;
  MonoTime at_;
  std::optional<double> headroom_cores_;
};

}  // namespace wattle::actuator
