#include "agent/collect/psi.hpp"

#include <algorithm>

namespace wattle::agent {

std::optional<double> mean_ratio(std::optional<std::uint64_t> prev_us, std::optional<std::uint64_t> now_us,
                                 Duration interval) {
  if (!prev_us || !now_us || *now_us < *prev_us || interval <= Duration::zero()) return std::nullopt;
  return std::min(1.0, static_cast<double>(*now_us - *prev_us) / (seconds(interval) * 1e6));
}

Pressure mean_pressure(const PressureTotals& prev, const PressureTotals& now, Duration interval) {
  return {mean_ratio(prev.cpu.some_us, now.cpu.some_us, interval),
          mean_ratio(prev.cpu.full_us, now.cpu.full_us, interval),
          mean_ratio(prev.memory.some_us, now.memory.some_us, interval),
          mean_ratio(prev.memory.full_us, now.memory.full_us, interval),
          mean_ratio(prev.io.some_us, now.io.some_us, interval),
          mean_ratio(prev.io.full_us, now.io.full_us, interval)};
}

PsiFiles::PsiFiles(const char* cpu, const char* memory, const char* io)
    : cpu_{KeptFile(cpu)}, memory_{KeptFile(memory)}, io_{KeptFile(io)} {}

PsiFiles PsiFiles::of_node() { return {"pressure/cpu", "pressure/memory", "pressure/io"}; }
PsiFiles PsiFiles::of_cgroup() { return {"cpu.pressure", "memory.pressure", "io.pressure"}; }

PressureTotals PsiFiles::read_from(const Dir& dir, std::span<char> scratch) {
  const auto one = [&](One& source) -> PsiTotals {
    if (source.absent) return {};
    auto text = source.file.read_from(dir, scratch);
    if (text) return parse_psi(*text);
    source.absent = text.error().code != Errc::io;
    return {};
  };
  return {one(cpu_), one(memory_), one(io_)};
}

void PsiFiles::retry() { cpu_.absent = memory_.absent = io_.absent = false; }

}  // namespace wattle::agent
