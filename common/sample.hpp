// sample: measurements of one node over one interval, shared by the agent, the wire and the controller.
// Units    in every name; _ratio is 0..1; energy in integer microjoules so that sums are exact
// Unset    std::optional: the kernel gave no value. Zero means that the kernel reported zero.
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wattle {

// Source of an energy value. `estimated` means a utilisation model; every display marks it.
enum class EnergySource : std::uint8_t { none = 0, rapl = 1, perf = 2, pcm = 3, hwmon = 4, estimated = 5 };
std::string_view to_string(EnergySource source);

// Energy domain over the interval. package and psys may both be present; total_energy_uj counts neither twice.
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

// Values of one socket that PCM reports in addition to its energy.
struct SocketValues {
  std::uint64_t socket = 0;
  std::optional<double> dram_read_bytes_per_s, dram_write_bytes_per_s;
  std::optional<double> frequency_hz;          // mean of its cores while they were awake
  std::vector<double> package_c_state_ratios;  // share of the interval in package C-state 0, 1, 2, ...
};

// Values from the BPF programs over the interval, for a node or one workload root. Unset if the program is not loaded.
struct KernelValues {
  std::optional<std::uint64_t> on_cpu_us;         // time that tasks ran, up to the moment of the reading
  std::optional<std::uint64_t> cpu_cycles;        // while tasks ran; only if the processor's counters are readable
  std::optional<std::uint64_t> run_queue_us;      // runnable tasks waiting for a CPU, summed
  std::optional<std::uint64_t> run_queue_waits;   // times that a task moved from the queue to a CPU
  std::optional<double> tcp_srtt_us;              // mean smoothed round trip to peers outside the cluster networks
  std::optional<std::uint64_t> tcp_srtt_samples;  // samples in that mean
  std::optional<std::uint64_t> block_io_us;       // time between issue and completion, summed over requests
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
  std::optional<double> disk_used_ratio;                                // root file system
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

// Container of a pod over the interval; only containers that used something. Their sum is at most the value of
// their root; the difference belongs to no observed container.
struct ContainerValues {
  std::string id;  // first 12 digits of the runtime's id
  std::uint64_t cpu_usage_us = 0;
  std::optional<std::uint64_t> energy_uj;  // share of the root's energy
  bool operator==(const ContainerValues&) const = default;
};
inline constexpr std::size_t kContainerIdBytes = 12;
inline constexpr std::size_t kMaxContainers = 64;  // per root: the containers that used most

// Workload root (a pod, a systemd service, a VM); nested cgroups belong to their root. Roots are disjoint.
struct WorkloadValues {
  std::uint64_t cgroup_id = 0;  // kernfs inode of the root's directory
  WorkloadKind kind = WorkloadKind::other;
  std::string name;                           // pod UID with dashes, unit name, or VM name
  bool ended = false;                         // removed during the interval; these are its last values
  std::optional<std::uint64_t> cpu_usage_us;  // over the interval
  std::optional<std::uint64_t> energy_uj;     // share of the node's energy over the interval
  std::optional<std::uint64_t> memory_bytes;
  // Since the last record that had them, about every 5 s; unset in between.
  std::optional<std::uint64_t> io_read_bytes, io_write_bytes;
  std::optional<std::uint64_t> pids;
  Pressure pressure;
  std::optional<std::uint64_t> cpu_throttled_us;                      // over the interval, caused by cpu.max
  std::optional<std::uint64_t> memory_anon_bytes, memory_file_bytes;  // last reading, about every 5 s
  std::optional<std::uint64_t> memory_high_events, memory_oom_kills;  // since the last record that had them
  KernelValues kernel;
  std::vector<ContainerValues> containers;  // only for a pod
  // Over the interval, by workloads within this one; no value if it contains none.
  std::optional<std::uint64_t> nested_cpu_us;
  bool operator==(const WorkloadValues&) const = default;
};

// Returns the record of a workload that did nothing since `values`: counts over the interval are 0, levels stay, and
// values that are sent only occasionally (io, memory events) are unset.
WorkloadValues at_rest(WorkloadValues values);

enum class ProbeKind : std::uint8_t { tcp = 0, http = 1, icmp = 2 };
std::string_view to_string(ProbeKind kind);

// Round trips to one target over the probe window.
struct ProbeValues {
  std::string target;                               // name from the configuration
  std::optional<double> p50_ms, p95_ms, jitter_ms;  // unset: no answer
  double loss_ratio = 0;
  std::uint64_t sent = 0;
  ProbeKind kind = ProbeKind::tcp;
  std::uint64_t dns_failures = 0, refusals = 0, timeouts = 0, unreachables = 0, bad_answers = 0;  // counted in `sent`
};

// Finished minute of a service, VM or pod whose CPU limit wattle-actuator sets (actuator/governor).
struct LimitMinute {
  std::string name;                                // workload: service, VM or UID of a pod
  std::uint64_t number = 0;                        // counts the workload's minutes since its first limit
  bool steered = false;                            // the controller set the margin
  double margin_ratio = 0, rule_margin_ratio = 0;  // at its end; the node's own rule would set rule_margin_ratio next
  double throttled_ratio = 0;                      // share of its periods
  double used_cores = 0, granted_cores = 0;
  double deviation_ratio = 0, peak_ratio = 1;            // one-second usage over its mean
  std::optional<std::uint64_t> requests, requests_over;  // answered during the minute, and how many of them too late
  std::optional<double> p99_over_target;
  // Memory margin over the working set at the end of the minute; unset: no limit, or memory is not managed.
  std::optional<double> memory_margin_ratio = {};
  std::optional<std::uint64_t> memory_granted_bytes = {}, memory_used_bytes = {};  // mean; largest working set
  // Working set over the largest of ten minutes.
  double memory_used_over_peak = 1;
  double memory_short_ratio = 0;  // share of samples with pressure, refaults or memory.high events
  bool student_out = false;       // a student of the node failed its trial with this workload
  bool operator==(const LimitMinute&) const = default;
};
inline constexpr std::size_t kMaxLimitMinutes = 256;  // per record

// Record of one tick of a node.
struct Record {
  std::uint64_t incarnation = 0;  // rises at each agent start, persisted
  std::uint64_t seq = 0;          // rises by one within an incarnation, from 1
  std::int64_t mono_ns = 0;       // CLOCK_MONOTONIC of the node at the end of the interval
  std::int64_t wall_ns = 0;       // only for people
  std::int64_t interval_ns = 0;   // 0 in the first record: no rates yet
  NodeValues node;
  std::vector<WorkloadValues> workloads;
  std::vector<ProbeValues> probes;
  bool partial = false;  // unlisted workloads still exist and were idle since the previous record
  // An interval with too many workloads for one message is split into `parts` records with consecutive numbers. Only
  // part 0 has node values and probes; roots with the same name are in the same part.
  std::uint64_t part = 0, parts = 1;
  std::vector<LimitMinute> limit_minutes;  // finished minutes; in part 0
};

// Sequence numbers of one incarnation whose records are lost; both ends included.
struct RecordGap {
  std::uint64_t incarnation = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  bool operator==(const RecordGap&) const = default;
};

}  // namespace wattle
