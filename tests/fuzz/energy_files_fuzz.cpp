// The kernel's energy files other than powercap's: perf's events, scales and CPU masks, hwmon's names and labels, and
// the energy between implausible sensor values.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "agent/collect/hwmon.hpp"
#include "agent/collect/perf_energy.hpp"
#include "common/parse.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

void perf(std::string_view text) {
  if (parse_perf_event(text) && text.find("event=") == std::string_view::npos) std::abort();
  if (parse_cpu_list(text).size() > 4096) std::abort();
  if (perf_event_kind(text) != EnergyKind::other && !text.starts_with("energy-")) std::abort();
  const auto scale_j = parse_perf_scale(text);
  if (!scale_j) return;
  if (!(*scale_j > 0 && *scale_j <= 1)) std::abort();
  const std::uint64_t count = number(text);
  const std::uint64_t more = count | (count >> 1);
  if (perf_energy_uj(count, *scale_j) > perf_energy_uj(more, *scale_j)) std::abort();
}

void hwmon(std::string_view text) {
  // "chip file label" of one sensor.
  const auto chip_end = text.find(' ');
  const auto file_end = chip_end == std::string_view::npos ? chip_end : text.find(' ', chip_end + 1);
  if (file_end == std::string_view::npos) return;
  const auto file = text.substr(chip_end + 1, file_end - chip_end - 1);
  const auto sensor = hwmon_sensor(text.substr(0, chip_end), file, text.substr(file_end + 1));
  if (!sensor) return;
  if (sensor->label.empty() || sensor->is_power != file.starts_with("power")) std::abort();
  if (sensor->kind == EnergyKind::package ? !sensor->socket : sensor->kind != EnergyKind::psys) std::abort();
}

void power(std::string_view text) {
  if (text.size() < 24) return;
  const PowerSample prev{MonoTime{}, number(text)};
  const PowerSample now{MonoTime{} + Duration(static_cast<Duration::rep>(number(text.substr(8)))),
                        number(text.substr(16))};
  const auto energy_uj = energy_between_uj(prev, now);
  if (!energy_uj) return;
  const double most_uj = static_cast<double>(std::max(prev.power_uw, now.power_uw)) * seconds(kMaxPowerInterval);
  if (static_cast<double>(*energy_uj) > most_uj * 1.0000001) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  perf(text);
  hwmon(text);
  power(text);
  return 0;
}
