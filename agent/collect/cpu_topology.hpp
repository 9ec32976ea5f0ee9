// cpu_topology: reads the physical package of each CPU.
// Source   <sys>/devices/system/cpu/{possible,cpu*/topology/physical_package_id},
//          Documentation/admin-guide/cputopology.rst
// Gives    packages in the order of their ids; a CPU that is offline or has no id is in the first
// Errors   none: a machine without ids is one package
// Threads  values
#pragma once

#include <cstdint>
#include <vector>

#include "agent/roots.hpp"

namespace wattle::agent {

struct CpuTopology {
  std::vector<std::uint32_t> package_of_cpu;  // index into package_ids, by CPU number
  std::vector<std::uint64_t> package_ids{0};  // ids of the kernel

  static CpuTopology read_(const Roots& roots);
};

}  // namespace wattle::agent
