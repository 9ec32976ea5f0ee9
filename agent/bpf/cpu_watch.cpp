#include "agent/bpf/cpu_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace wattle::agent {

namespace {
// At most every second switch is to the idle task, so many tasks began within this number.
constexpr std::uint64_t kManySwitches = 200;
}  // namespace

void CpuWatch::look(std::span<wattle_cpu> cpus, bool counts_cycles) {
  seen_.resize(cpus.size());
  std::optional<CpuTopology> now;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    wattle_cpu& state = cpus[cpu];
    Seen& seen = seen_[cpu];
    const std::uint64_t switches = __atomic_load_n(&state.switches, __ATOMIC_ACQUIRE);
    const std::uint64_t cycles = __atomic_load_n(&state.cycles_at_in, __ATOMIC_RELAXED);
    if (switches == 0) continue;  // offline since the start
    if (!std::exchange(seen.placed, true)) {
      if (at_start_.package(cpu) == kUnknownPackage && read_again_) {
        if (!now) now = read_again_();
        place(cpu, state, *now);
      }
      seen.switches = switches;
      seen.cycles = cycles;
    }
    if (switches - seen.switches < kManySwitches) continue;
    if (counts_cycles && has_cycles_ && cycles == seen.cycles) {
      has_cycles_ = false;
      note(cpu, "its cycle counter does not advance, so energy is attributed by time on CPU");
    }
    seen.switches = switches;
    seen.cycles = cycles;
  }
}

void CpuWatch::place(std::size_t cpu, wattle_cpu& state, const CpuTopology& now) {
  const std::uint32_t package = now.package(cpu);
  if (package == kUnknownPackage) return;  // the machine reports none
  const auto known = std::ranges::find(at_start_.package_ids, now.package_ids[package]);
  if (known != at_start_.package_ids.end()) {
    const auto place = static_cast<unsigned>(known - at_start_.package_ids.begin());
    return __atomic_store_n(&state.package, place, __ATOMIC_RELEASE);
  }
  knows_packages_ = false;
  note(cpu, "its package " + std::to_string(now.package_ids[package]) +
                " was offline when the agent started, so energy is not attributed by package");
}

void CpuWatch::note(std::size_t cpu, std::string what) {
  if (!problem_)
    problem_ = Error{Errc::unavailable, "CPU " + std::to_string(cpu), std::move(what), "restart the agent"};
}

}  // namespace wattle::agent
