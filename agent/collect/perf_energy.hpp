// perf_energy: energy from the kernel's `power` performance counters, which may exist without powercap.
// Source   <sys>/bus/event_source/devices/power/{type,cpumask,events/energy-*{,.scale,.unit}}, perf_event_open(2) once
//          per event and CPU of the mask; <sys>/devices/system/cpu/cpuN/topology/{physical_package_id,die_id}
// Gives    one DomainEnergy per event and package (or die, where a package has several)
// Units    the kernel counts in units of .scale joules (2^-32), in 64 bits that do not wrap
// Errors   open_: not_found (no such PMU, or one whose counters never advance, as in some virtual machines), denied
//          (CPU-wide events need CAP_PERFMON or perf_event_paranoid below 1), malformed. A counter that does not
//          advance is omitted; after a failed read that interval and the next have no value
// Cost     1 read per counter;  Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/collect/energy_reading.hpp"
#include "agent/roots.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

// "event=0x02" to 2; no value unless it is a single `event` term.
std::optional<std::uint64_t> parse_perf_event(std::string_view text);
// "0-2,14" to 0 1 2 14; empty if it is not a list, or has more than 4,096 CPUs.
std::vector<unsigned> parse_cpu_list(std::string_view text);
// "2.3283064365386962890625e-10" joules per count; no value unless above 0 and at most 1.
std::optional<double> parse_perf_scale(std::string_view text);
// Converts a count to whole microjoules. The differences of such values add up without rounding errors.
std::uint64_t perf_energy_uj(std::uint64_t count, double scale_j);
// Returns what an event of the power PMU counts: "energy-pkg" the package, "energy-ram" its DRAM.
EnergyKind perf_event_kind(std::string_view name);

// Kernel interface: opens a counter of one CPU, for all tasks that run there, and reads it.
struct PerfPort {
  std::function<Result<Fd>(std::uint32_t type, std::uint64_t config, unsigned cpu)> open;
  std::function<Result<std::uint64_t>(int fd)> read;
  std::function<bool(int fd)> is_stuck;  // true: a new counter does not change while the machine runs
};
PerfPort kernel_perf_port();

class PerfEnergy {
 public:
  // Opens every counter, so that it can be read after capabilities are dropped. Refuses a captured tree, which has no
  // kernel behind it, unless a port is given.
  static Result<PerfEnergy> open_(const Roots& roots, const std::optional<PerfPort>& port = std::nullopt);
  void read(EnergyReadings& out, CollectErrors& errors);
  // "package-0, dram-0"
  std::string labels() const;
  std::size_t counter_count() const { return counters_.size(); }

 private:
  struct Counter {
    std::string label;
    EnergyKind kind = EnergyKind::other;
    std::optional<unsigned> socket;
    double scale_j = 0;
    Fd fd;
    std::optional<std::uint64_t> prev_uj;
  };
  explicit PerfEnergy(PerfPort port) : port_(std::move(port)) {}
  PerfPort port_;
  std::vector<Counter> counters_;
};

}  // namespace wattle::agent
