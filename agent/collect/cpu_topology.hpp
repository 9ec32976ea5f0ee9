// cpu_topology: which physical package each CPU is in.
// Source   <sys>/devices/system/cpu/{possible,cpu*/topology/physical_package_id}, Documentation/admin-guide/cputopology.rst
// Gives    packages in the order of their ids; a CPU that is offline or says nothing is in the first
// Errors   none: a machine that tells nothing is one package
// Threads  values
#pragma once

#include <cstdint>
#include <vector>

#include "agent/roots.hpp"

namespace wattle::agent {

struct CpuTopology {
  std::vector<std::uint32_t> package_of_cpu;  // index into package_ids, by CPU number
  std::vector<std::uint64_t> package_ids{0};  // as the kernel names them

  static CpuTopology read_(const Roots& roots);
};

}  // namespace wattle::agent
