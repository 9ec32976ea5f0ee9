// psi: parses one file of pressure stall information.
// Source   /proc/pressure/*, <cgroup>/*.pressure
// Units    us, cumulative
// Errors   no value for what the file does not contain
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wattle {

struct PsiTotals {
  std::optional<std::uint64_t> some_us;
  std::optional<std::uint64_t> full_us;
};

PsiTotals parse_psi(std::string_view text);

// Estimates the share of time that tasks waited for a CPU, 0..1, from PSI's "cpu some". The kernel also counts tasks
// that a limit (cpu.max) throttles, which wait for no CPU. Throttled time is a sum over CPUs and PSI is a mean over
// busy CPUs, so throttled time is divided by the number of CPUs on which tasks run or are throttled, at least 1.
double waiting_share(double some_ratio, double throttled_cores, double used_cores);

}  // namespace wattle
