#include "common/sample.hpp"

#include "common/enum_name.hpp"

namespace wattle {

std::string_view to_string(EnergySource source) {
  constexpr std::string_view kNames[] = {"none", "rapl", "perf", "pcm", "hwmon", "estimated"};
  return enum_name(kNames, source);
}

std::string_view to_string(WorkloadKind kind) {
  constexpr std::string_view kNames[] = {"pod", "service", "vm", "other"};
  return enum_name(kNames, kind);
}

WorkloadValues at_rest(WorkloadValues values) {
  const auto stop = [](auto&... counts) { ((counts ? void(*counts = 0) : void()), ...); };
  Pressure& pressure = values.pressure;
  KernelValues& kernel = values.kernel;
  stop(values.cpu_usage_us, values.energy_uj, values.cpu_throttled_us, values.nested_cpu_us);
  stop(pressure.cpu_some_ratio, pressure.cpu_full_ratio, pressure.memory_some_ratio, pressure.memory_full_ratio,
       pressure.io_some_ratio, pressure.io_full_ratio);
  stop(kernel.on_cpu_us, kernel.cpu_cycles, kernel.run_queue_us, kernel.run_queue_waits, kernel.tcp_srtt_samples,
       kernel.block_io_us, kernel.block_ios);
  kernel.tcp_srtt_us.reset();  // no mean without samples
  values.containers.clear();
  for (auto* now_and_then :
       {&values.io_read_bytes, &values.io_write_bytes, &values.memory_high_events, &values.memory_oom_kills})
    now_and_then->reset();
  return values;
}

std::string_view to_string(ProbeKind kind) {
  constexpr std::string_view kNames[] = {"tcp", "http", "icmp"};
  return enum_name(kNames, kind);
}

}  // namespace wattle
