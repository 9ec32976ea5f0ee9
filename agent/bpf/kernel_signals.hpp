// kernel_signals: the values of a tick that only our BPF programs report.
// Source   sched.bpf.c (time on CPU, run queue, cycles), tcp.bpf.c (round trips), block.bpf.c (disk requests); each is
//          loaded separately
// Gives    KernelValues of the node and of each workload root, and the time on CPU per physical package
// Errors   none after loading; a Finding reports a program that could not be loaded, and its values have no reading
// Needs    CAP_BPF and CAP_PERFMON to load, CAP_NET_ADMIN for tcp; none to read, because everything is mapped or kept
//          open
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/bpf/cpu_watch.hpp"
#include "agent/bpf/networks.hpp"
#include "agent/bpf/signal_sums.hpp"
#include "agent/collect/cpu_topology.hpp"
#include "agent/config.hpp"
#include "agent/finding.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct KernelSignalsOptions {
  std::size_t cgroups = 0;                    // current number; the table has room for at least three times as many
  CpuTopology topology;                       // packages of CPUs
  CpuWatch::ReadTopology read_topology = {};  // for CPUs that come online later
  int cgroup_fd = -1;                         // the top of cgroup v2; -1: no round trips
  std::vector<IpNetwork> near;                // peers in these networks are not measured, and neither is loopback
};

// Weights for the attribution of energy over the interval, by physical_package_id; empty if not counted.
struct PackageUse {
  std::span<const std::uint64_t> on_cpu_us, cycles;

  std::span<const std::uint64_t> weights() const { return cycles.empty() ? on_cpu_us : cycles; }
};

// Derives the options from the configuration and this machine: the table's size from cgroup.stat, packages from /sys.
KernelSignalsOptions signal_options(const AgentConfig& config, const Dir* cgroup_top);
std::vector<Finding> examine_kernel_signals(const AgentConfig& config);

class KernelSignals {
 public:
  // Adds one finding per program.
  static KernelSignals load_(const KernelSignalsOptions& options, std::vector<Finding>& findings);
  KernelSignals(KernelSignals&&) noexcept;
  KernelSignals& operator=(KernelSignals&&) noexcept;
  ~KernelSignals();

  bool any() const;
  // Fills in values over the interval since the previous call; the first call leaves them unset. `roots_changed`: since
  // the previous call. `stolen_us`: time that a hypervisor took from each CPU since the boot; empty: none.
  void read(const Clock& clock, const RootIndex& roots, bool roots_changed, std::span<const std::uint64_t> stolen_us,
            NodeValues& node, std::span<WorkloadValues> workloads);
  // Returns the reason why energy is no longer attributed by package or by cycles; CPUs went offline or came online.
  const std::optional<Error>& cpu_problem() const;
  // Time of a cgroup that was removed since the last read; no value if not counted.
  std::optional<std::uint64_t> unread_on_cpu_ns(std::uint64_t cgroup_id) const;
  // Returns the usage in the order of the last read's workloads, and of the node; valid until the next read.
  std::span<const PackageUse> package_use() const;
  const PackageUse& node_package_use() const;
  // Number of events without room in a table, since the start.
  std::uint64_t overflows() const;

 private:
  struct Programs;
  explicit KernelSignals(std::unique_ptr<Programs> programs);
  std::unique_ptr<Programs> programs_;
};

}  // namespace wattle::agent
