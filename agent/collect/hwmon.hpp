// hwmon: energy and power from the kernel's sensor chips, for chips whose meaning is known.
// Source   <sys>/class/hwmon/*/{name,energyN_input,energyN_label,powerN_{input,average},powerN_label}
//          (Documentation/hwmon/{amd_energy,acpi_power_meter,xgene-hwmon}.rst). For a chip without a name the same
//          files in device/, where the ACPI meter had them until its driver was moved to
//          hwmon_device_register_with_info (2025)
// Gives    amd_energy and zenergy: energy of each Esocket; power_meter (ACPI): power of the whole system ("system"), or
//          of several meters by their own labels; those of kind psys are summed and the others are parts of them
//          (power_meters.hpp); xgene: "CPU power" of its single package. Other chips are ignored
// Units    energy uJ, power uW. Power is instantaneous: it is integrated as the mean of two readings times the time
//          between
// Errors   open_: not_found (no such chip), denied. A failed reading leaves that interval and the next without a value;
//          so does power over more than kMaxPowerInterval
// Cost     1 pread per sensor; an ACPI meter may take the firmware milliseconds;  Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/collect/energy_reading.hpp"
#include "agent/collect/held_file.hpp"
#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

inline constexpr Duration kMaxPowerInterval = std::chrono::seconds(10);

// Identifies a sensor by its chip's name, its file and its label. No value if it is unknown, or a part of another one.
struct HwmonSensor {
  EnergyKind kind = EnergyKind::other;
  std::optional<unsigned> socket;
  std::string label;  // as in DomainEnergy
  bool is_power = false;
};
std::optional<HwmonSensor> hwmon_sensor(std::string_view chip, std::string_view file, std::string_view label);

// Meters that do not measure show 0 W, or -1 mW as 4.29 MW (github.com/lm-sensors/lm-sensors issues 130 and 460).
inline constexpr std::uint64_t kMaxPower_uw = 1'000'000'000'000;
bool is_power(std::uint64_t power_uw);

struct PowerSample {
  MonoTime at;
  std::uint64_t power_uw = 0;
};
// No value if no time has passed, or too much time for two readings to represent.
std::optional<std::uint64_t> energy_between_uj(const PowerSample& prev, const PowerSample& now);

class Hwmon {
 public:
  static Result<Hwmon> open_(const Roots& roots);
  void read(EnergyReadings& out, const Clock& clock, std::span<char> scratch, CollectErrors& errors);
  // "package-0 (amd_energy), system (power_meter)"
  std::string labels() const;
  // Returns for example "package-, system": the kinds that are measured, without parts.
  std::string kinds() const;
  // The longest averaging time of a meter of the system.
  Duration averages_over() const { return averages_over_; }

 private:
  struct Sensor {
    HwmonSensor what;
    std::string chip;
    HeldFile file;
    std::optional<MonoTime> at;
    std::uint64_t value = 0;  // uJ, or uW for power
  };
  Hwmon(Dir dir, std::vector<Sensor> sensors) : dir_(std::move(dir)), sensors_(std::move(sensors)) {}
  Dir dir_;
  std::vector<Sensor> sensors_;
  Duration averages_over_{};
};

}  // namespace wattle::agent
