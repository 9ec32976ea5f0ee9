// procfs: measures the node's total use of CPU, memory, network, disks and TCP connections.
// Source   <proc>/stat, meminfo, net/dev, diskstats, net/snmp (for pods: net_namespaces); <sys>/class/net/*/device and
//          <sys>/block identify real interfaces and disks; statvfs("/")
// Gives    NodeCounters (cumulative, as in the kernel) and rates as functions of two of them
// Units    us, bytes, counts; bytes per second and cores for rates
// Errors   per file: that part has no value, and its error is reported with it
// Cost     6 preads and 1 statvfs a tick, and the reads of net_namespaces;  Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/collect/kept_file.hpp"
#include "agent/collect/net_namespaces.hpp"
#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct CpuCounters {
  std::uint64_t busy_us = 0;  // user + nice + system + irq + softirq; stolen time is excluded, guests are in user
  std::uint64_t idle_us = 0;  // idle + iowait
  unsigned cores = 0;         // online
  std::vector<std::uint64_t> stolen_us = {};  // by CPU number, taken by a hypervisor; empty if it takes none
};

struct MemoryReading {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;
};

// Counters of an interface (in: received, out: sent) or a disk (in: read, out: written).
struct IoCounters {
  std::string name;
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
};

struct IoRate {
  double in_bytes_per_s = 0;
  double out_bytes_per_s = 0;
};

struct NodeCounters {
  MonoTime cpu_at, net_at, disk_at;  // read next to each file
  std::optional<CpuCounters> cpu;
  std::optional<MemoryReading> memory;
  std::optional<std::vector<IoCounters>> interfaces;
  std::optional<std::vector<IoCounters>> disks;
  std::optional<std::uint64_t> tcp_established;  // of all network namespaces
  std::optional<double> disk_used_ratio;
};

using Accept = std::function<bool(std::string_view name)>;

// Ticks of /proc/stat are 1/user_hz seconds.
std::optional<CpuCounters> parse_stat(std::string_view text, std::uint64_t user_hz);
// No value if MemTotal or MemAvailable is missing.
std::optional<MemoryReading> parse_meminfo(std::string_view text);
// Both reuse the elements of `out`.
void parse_net_dev(std::string_view text, const Accept& accept, std::vector<IoCounters>& out);
// Kernels before 6.4 count the bytes of an NVMe drive with native multipath only on its hidden paths (nvme3c33n1), and
// leave the head (nvme3n1) at zero: a head without bytes gets those of its paths. Newer kernels count on both.
void parse_diskstats(std::string_view text, const Accept& accept, std::vector<IoCounters>& out);
// Returns the head of a path, "nvme3n1" for "nvme3c33n1"; empty if the name is not a path.
std::string multipath_head(std::string_view name);
// CurrEstab of the Tcp lines; IPv4 and IPv6 together.
std::optional<std::uint64_t> parse_snmp(std::string_view text);

// Cores in use; no value if the counters decreased (a core was removed). At most the cores that were online.
std::optional<double> mean_cores(const CpuCounters& prev, const CpuCounters& now, Duration interval);
// Sums the names in both; a counter that was reset counts 0.
std::optional<IoRate> mean_rate(const std::vector<IoCounters>& prev, const std::vector<IoCounters>& now,
                                Duration interval);

// Decides by name only, for names that /sys does not describe.
bool looks_virtual_interface(std::string_view name);
bool looks_whole_disk(std::string_view name);

// Returns the folder of the machine's network: "net", or "1/net" below a host's /proc, whose own "net" is the reader's
// network.
std::string net_folder(const Dir& proc, bool own_proc);

class Procfs {
 public:
  static Result<Procfs> open_(const Roots& roots, std::uint64_t user_hz);
  // Fills `now`, reusing its vectors. Errors are added to `errors` as (part, error).
  void read(NodeCounters& now, const Clock& clock, std::span<char> scratch,
            std::vector<std::pair<std::string, Error>>& errors);
  // Returns the total speed of these interfaces in one direction as they report it; 0 if none reports it (virtual
  // machines, interfaces that are down).
  double link_bytes_per_s(const std::vector<IoCounters>& interfaces) const;

 private:
  Procfs(Dir proc, std::optional<Dir> sys, std::string disk_path, bool own_proc, std::uint64_t user_hz);
  bool real_interface(std::string_view name);
  bool real_disk(std::string_view name);

  Dir proc_;
  std::optional<Dir> sys_;
  std::string disk_path_;  // empty: a captured tree has no separate file system
  std::uint64_t user_hz_;
  KeptFile stat_, meminfo_, net_dev_, diskstats_, snmp_;
  std::string snmp_path_;
  NetNamespaces others_;
  bool any_device_ = false;
  MonoTime judged_at_{};
  std::map<std::string, bool, std::less<>> interfaces_, disks_;  // cached decision for each name
};

}  // namespace wattle::agent
