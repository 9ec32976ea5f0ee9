// cpu_watch: follows CPUs that come online after the start, and cycle counters that stop with their CPU.
// Source   the switches and cycles of each CPU in the programs' table; the topology is read again for a new CPU
// Gives    the package of a new CPU, set in the table before its counters are read
// Errors   problem() says why energy is no longer attributed by package or by cycles
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/bpf/signal_slots.h"
#include "agent/collect/cpu_topology.hpp"
#include "common/result.hpp"

namespace wattle::agent {

class CpuWatch {
 public:
  using ReadTopology = std::function<CpuTopology()>;
  CpuWatch(CpuTopology at_start, ReadTopology read_again)
      : at_start_(std::move(at_start)), read_again_(std::move(read_again)) {}

  // Call before each reading of the counters.
  void look(std::span<wattle_cpu> cpus, bool counts_cycles);
  // False once a CPU runs in a package that had no CPU online at the start: the table has no counters for it.
  bool knows_packages() const { return knows_packages_; }
  // False once the cycles of a CPU that runs tasks do not advance: it was offline, or has no counter.
  bool has_cycles() const { return has_cycles_; }
  const std::optional<Error>& problem() const { return problem_; }

 private:
  struct Seen {
    bool placed = false;
    std::uint64_t switches = 0, cycles = 0;
  };
  void place(std::size_t cpu, wattle_cpu& state, const CpuTopology& now);
  void note(std::size_t cpu, std::string what);

  CpuTopology at_start_;
  ReadTopology read_again_;
  std::vector<Seen> seen_;
  bool knows_packages_ = true, has_cycles_ = true;
  std::optional<Error> problem_;
};

}  // namespace wattle::agent
