// kernel_signals: what our BPF programs see that no file tells, as values of a tick.
// Source   sched.bpf.c (time on CPU, run queue, cycles), tcp.bpf.c (round trips), block.bpf.c (disk requests); each loads on its own
// Gives    KernelValues of the node and of each workload root, and the time on CPU per physical package
// Errors   none after loading; what could not be loaded is told by a Finding and its values stay absent
// Needs    CAP_BPF and CAP_PERFMON to load, CAP_NET_ADMIN for tcp; nothing to read: everything is mapped or kept open
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  std::size_t cgroups = 0;      // there now; the table takes at least three times as many
  CpuTopology topology;         // packages of CPUs
  int cgroup_fd = -1;           // the top of cgroup v2; -1: no round trips
  std::vector<IpNetwork> near;  // peers there are not measured, nor on loopback
};

// What the attribution of energy weighs by, over the interval, by physical_package_id; empty where nobody counts it.
struct PackageUse {
  std::span<const std::uint64_t> on_cpu_us, cycles;

  std::span<const std::uint64_t> weights() const { return cycles.empty() ? on_cpu_us : cycles; }
};

// As the configuration and this machine have it: the table's size from cgroup.stat, packages from /sys.
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
  // Values over the interval since the call before; absent at the first. `roots_changed`: since the call before.
  void read(const Clock& clock, const RootIndex& roots, bool roots_changed, NodeValues& node,
            std::span<WorkloadValues> workloads);
  // Of a cgroup that went since the last read; absent where nobody counts it.
  std::optional<std::uint64_t> unread_on_cpu_ns(std::uint64_t cgroup_id) const;
  // As the workloads of the last read, and of the node; until the next.
  std::span<const PackageUse> package_use() const;
  const PackageUse& node_package_use() const;
  // Events that found no room, since the start.
  std::uint64_t overflows() const;

 private:
  struct Programs;
  explicit KernelSignals(std::unique_ptr<Programs> programs);
  std::unique_ptr<Programs> programs_;
};

}  // namespace wattle::agent
