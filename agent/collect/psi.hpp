// psi: reads pressure stall information of the node and of cgroups.
// Source   <proc>/pressure/{cpu,memory,io}; <cgroup>/{cpu,memory,io}.pressure
// Gives    cumulative totals, and the share of an interval as a function of two of them
// Units    us; _ratio 0..1
// Errors   a file that is missing or returns EOPNOTSUPP has no values, and so has a value that is missing in a file
// Cost     1 pread per file;  Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "agent/collect/kept_file.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/psi.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct PressureTotals {
  PsiTotals cpu, memory, io;
};

// No value if either total is unset, or if they decreased. At most 1: the kernel's sums lag slightly behind its clock.
std::optional<double> mean_ratio(std::optional<std::uint64_t> prev_us, std::optional<std::uint64_t> now_us,
                                 Duration interval);
Pressure mean_pressure(const PressureTotals& prev, const PressureTotals& now, Duration interval);

// The three files of the node or of one cgroup, kept open.
class PsiFiles {
 public:
  static PsiFiles of_node();    // relative to <proc>
  static PsiFiles of_cgroup();  // relative to the cgroup's directory
  // Skips files that failed permanently (missing, unsupported) until retry().
  PressureTotals read_from(const Dir& dir, std::span<char> scratch);
  void retry();

 private:
  PsiFiles(const char* cpu, const char* memory, const char* io);
  struct One {
    KeptFile file;
    bool absent = false;
  };
  One cpu_, memory_, io_;
};

}  // namespace wattle::agent
