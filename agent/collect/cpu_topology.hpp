// cpu_topology: reads the physical package of each CPU.
// Source   <sys>/devices/system/cpu/cpu*/topology/physical_package_id,
//          Documentation/admin-guide/cputopology.rst
// Gives    packages in the order of their ids. A CPU that is offline has no id, and its package is unknown
// Errors   none: a machine without ids is one package, which has all CPUs
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/roots.hpp"

namespace wattle::agent {

inline constexpr std::uint32_t kUnknownPackage = ~std::uint32_t{0};

struct CpuTopology {
  std::vector<std::uint32_t> package_of_cpu;  // index into package_ids, or kUnknownPackage, by CPU number
  std::vector<std::uint64_t> package_ids{0};  // ids of the kernel

  std::uint32_t package(std::size_t cpu) const {
    return cpu < package_of_cpu.size() ? package_of_cpu[cpu] : kUnknownPackage;
  }
  static CpuTopology read_(const Roots& roots);
};

}  // namespace wattle::agent
