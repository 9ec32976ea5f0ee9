// psi: one file of pressure stall information.
// Source   /proc/pressure/*, <cgroup>/*.pressure
// Units    us, cumulative
// Errors   what the file does not say is absent
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

// Share of time that somebody waited for a CPU, of what PSI tells as "cpu some": the kernel counts as waiting that a limit (cpu.max) keeps
// tasks from running, too, and who is kept by his own limit waits for nobody. Throttled time over time is summed over CPUs, PSI is a mean
// over those that there is work on: so it is divided by the CPUs on which tasks run or are throttled, by 1 at least. 0..1.
double waiting_share(double some_ratio, double throttled_cores, double used_cores);

}  // namespace wattle
