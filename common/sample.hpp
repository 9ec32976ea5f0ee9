// sample: what one node tells about one interval; the value that the agent measures, the wire carries and state keeps.
// Units    in every name; _ratio is 0..1; energy in integer microjoules so that sums are exact
// Absent   std::optional: the kernel did not say. Zero means that the kernel said zero.
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wattle {

// Where a number of joules comes from. `estimated` is a utilisation model and is marked so wherever it is shown.
enum class EnergySource : std::uint8_t { none = 0, rapl = 1, perf = 2, pcm = 3, hwmon = 4, estimated = 5 };
std::string_view to_string(EnergySource source);

// One energy domain over the interval. package and psys may both be told; total_energy_uj counts nothing twice.
struct EnergyDomain {
  std::string name;  // "package-0", "dram-0", "psys", "estimated"
  std::uint64_t energy_uj = 0;
  bool gap = false;  // the counter may have wrapped more than once: energy_uj is a lower bound
  EnergySource source = EnergySource::none;
};

// Pressure stall: share of the interval in which some or all tasks waited.
struct Pressure {
  std::optional<double> cpu_some_ratio, cpu_full_ratio;
  std::optional<double> memory_some_ratio, memory_full_ratio;
  std::optional<double> io_some_ratio, io_full_ratio;
  bool operator==(const Pressure&) const = default;
};

// What PCM tells of one socket beside its energy.
struct SocketValues {
  std::uint64_t socket = 0;
  std::optional<double> dram_read_bytes_per_s, dram_write_bytes_per_s;
  std::optional<double> frequency_hz;          // mean of its cores while they were awake
  std::vector<double> package_c_state_ratios;  // share of the interval in package C-state 0, 1, 2, ...
};

// What the BPF programs saw over the interval, of a node or of one workload root. Absent: the program is not loaded.
struct KernelValues {
  std::optional<std::uint64_t> on_cpu_us;         // tasks running, up to the moment of the reading
  std::optional<std::uint64_t> cpu_cycles;        // while they ran; where the processor's counters may be read
  std::optional<std::uint64_t> run_queue_us;      // runnable tasks waiting for a CPU, summed
  std::optional<std::uint64_t> run_queue_waits;   // times that a task came from the queue to a CPU
  std::optional<double> tcp_srtt_us;              // mean smoothed round trip to peers outside the cluster networks
  std::optional<std::uint64_t> tcp_srtt_samples;  // behind that mean
  std::optional<std::uint64_t> block_io_us;       // from issue to completion, summed over requests
  std::optional<std::uint64_t> block_ios;         // requests completed
  bool operator==(const KernelValues&) const = default;
};

struct NodeValues {
  std::optional<double> cpu_used_cores;
  std::optional<double> cpu_cores;                 // online
  std::optional<std::uint64_t> memory_used_bytes;  // total - available
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<double> net_rx_bytes_per_s, net_tx_bytes_per_s;         // physical interfaces, summed
  std::optional<double> disk_read_bytes_per_s, disk_write_bytes_per_s;  // whole disks, summed
  std::optional<double> disk_used_ratio;                                // of the file system at the root
  std::optional<std::uint64_t> tcp_established;
  Pressure pressure;
  EnergySource energy_source = EnergySource::none;
  std::optional<std::uint64_t> energy_uj;  // measured over the interval = sum of workloads + idle + unattributed
  std::optional<std::uint64_t> idle_energy_uj;
  std::optional<std::uint64_t> unattributed_energy_uj;
  std::vector<EnergyDomain> domains;
  bool energy_gap = false;  // energy_uj is a lower bound
  std::vector<SocketValues> sockets;
  KernelValues kernel;
};

enum class WorkloadKind : std::uint8_t { pod = 0, service = 1, vm = 2, other = 3 };
std::string_view to_string(WorkloadKind kind);

// A container of a pod over the interval, of those that used anything. Together they used at most what their root did; what
// of the root is no container's that was seen is the rest.
struct ContainerValues {
  std::string id;  // the first 12 digits of its runtime's
  std::uint64_t cpu_usage_us = 0;
  std::optional<std::uint64_t> energy_uj;  // of the root's
  bool operator==(const ContainerValues&) const = default;
};
inline constexpr std::size_t kContainerIdBytes = 12;
inline constexpr std::size_t kMaxContainers = 64;  // of one root: those that used most

// One workload root (a pod, a systemd service, a VM); nested cgroups belong to their root. Roots are disjoint.
struct WorkloadValues {
  std::uint64_t cgroup_id = 0;  // kernfs inode of the root's directory
  WorkloadKind kind = WorkloadKind::other;
  std::string name;                           // pod UID with dashes, unit name, or VM name
  bool ended = false;                         // removed during the interval; these are its last values
  std::optional<std::uint64_t> cpu_usage_us;  // over the interval
  std::optional<std::uint64_t> energy_uj;     // its share over the interval
  std::optional<std::uint64_t> memory_bytes;
  // Since they were told last, every 5 s or so; absent in between.
  std::optional<std::uint64_t> io_read_bytes, io_write_bytes;
  std::optional<std::uint64_t> pids;
  Pressure pressure;
  std::optional<std::uint64_t> cpu_throttled_us;                      // over the interval, by cpu.max
  std::optional<std::uint64_t> memory_anon_bytes, memory_file_bytes;  // as last read, every 5 s or so
  std::optional<std::uint64_t> memory_high_events, memory_oom_kills;  // since they were told last
  KernelValues kernel;
  std::vector<ContainerValues> containers;  // of a pod
  bool operator==(const WorkloadValues&) const = default;
};

// What a workload tells when it did nothing since it told `values`: counts over the interval are 0, levels are as before,
// and what is told only now and then (io, memory events) is absent.
WorkloadValues at_rest(WorkloadValues values);

enum class ProbeKind : std::uint8_t { tcp = 0, http = 1, icmp = 2 };
std::string_view to_string(ProbeKind kind);

// Round trips to one target over the probe window.
struct ProbeValues {
  std::string target;                               // name from the configuration
  std::optional<double> p50_ms, p95_ms, jitter_ms;  // absent: nothing answered
  double loss_ratio = 0;
  std::uint64_t sent = 0;
  ProbeKind kind = ProbeKind::tcp;
  std::uint64_t dns_failures = 0, refusals = 0, timeouts = 0, unreachables = 0, bad_answers = 0;  // of `sent`
};

// One minute of a service or VM whose CPU limit wattle-actuator sets, as it ended (actuator/governor).
struct LimitMinute {
  std::string name;                                // of the workload
  std::uint64_t number = 0;                        // of its minutes, since its limit was set first
  bool steered = false;                            // the margin was the controller's
  double margin_ratio = 0, rule_margin_ratio = 0;  // in force at its end; where the node's own rule goes next
  double throttled_ratio = 0;                      // of its periods
  double used_cores = 0, granted_cores = 0;
  double deviation_ratio = 0, peak_ratio = 1;            // of one-second usages over their mean
  std::optional<std::uint64_t> requests, requests_over;  // answered in it, and how many of them too late
  std::optional<double> p99_over_target;
  // Memory: the margin over what was worked on, in force at its end; absent: not limited then, or left alone.
  std::optional<double> memory_margin_ratio = {};
  std::optional<std::uint64_t> memory_granted_bytes = {}, memory_used_bytes = {};  // mean; the most worked on
  double memory_used_over_peak = 1;                                                // over the most of ten minutes
  double memory_short_ratio = 0;  // of the looks at it, that found pressure, refaults or events of memory.high
  bool student_out = false;       // a student of the node failed its trial with it
  bool operator==(const LimitMinute&) const = default;
};
inline constexpr std::size_t kMaxLimitMinutes = 256;  // of one record

// One tick of one node.
struct Record {
  std::uint64_t incarnation = 0;  // rises at each agent start, persisted
  std::uint64_t seq = 0;          // rises by one within an incarnation, from 1
  std::int64_t mono_ns = 0;       // CLOCK_MONOTONIC of the node at the end of the interval
  std::int64_t wall_ns = 0;       // for people only
  std::int64_t interval_ns = 0;   // 0 in the first record: no rates yet
  NodeValues node;
  std::vector<WorkloadValues> workloads;
  std::vector<ProbeValues> probes;
  bool partial = false;  // workloads that are not listed are still there and at rest since the record before
  // An interval with too many workloads for one message is told by `parts` records with successive numbers. Node values
  // and probes are in part 0 only; a workload's roots of one name are in one part.
  std::uint64_t part = 0, parts = 1;
  std::vector<LimitMinute> limit_minutes;  // that have ended; in part 0
};

// Numbers of one incarnation that were given to records which are lost, ends included.
struct RecordGap {
  std::uint64_t incarnation = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  bool operator==(const RecordGap&) const = default;
};

}  // namespace wattle
