// hwmon: energy and power from the kernel's sensor chips, of those chips alone of which it is known what they measure.
// Source   <sys>/class/hwmon/*/{name,energyN_input,energyN_label,powerN_{input,average},powerN_label}
//          (Documentation/hwmon/{amd_energy,acpi_power_meter,xgene-hwmon}.rst); of a chip without a name the same in device/,
//          where the ACPI meter had its files until its driver was moved to hwmon_device_register_with_info (2025)
// Gives    amd_energy and zenergy: energy of each Esocket; power_meter (ACPI): power of the whole system ("system"), or of several
//          meters by their own labels, those of kind psys to be added up and the others parts of them (power_meters.hpp); xgene: "CPU power" of its one package. Other chips are not guessed at
// Units    energy uJ, power uW. Power is a moment's: it is integrated as the mean of two readings times the time between
// Errors   open_: not_found (no such chip), denied. A reading that fails is absent for that interval and the next, as is
//          power over more than kMaxPowerInterval
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

// What a sensor measures, from its chip's name, its file and its label. Absent: not known, or a part of something else.
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
// Absent when time did not pass, or more of it than two moments can tell about.
std::optional<std::uint64_t> energy_between_uj(const PowerSample& prev, const PowerSample& now);

class Hwmon {
 public:
  static Result<Hwmon> open_(const Roots& roots);
  void read(EnergyReadings& out, const Clock& clock, std::span<char> scratch, CollectErrors& errors);
  // "package-0 (amd_energy), system (power_meter)"
  std::string labels() const;
  // "package-, system": what is measured of the node, parts left out.
  std::string kinds() const;
  // The longest time over which a meter of the system averages.
  Duration averages_over() const { return averages_over_; }

 private:
  struct Sensor {
    HwmonSensor what;
    std::string chip;
    HeldFile file;
    std::optional<MonoTime> at;
    std::uint64_t value = 0;  // uJ, or uW where it is power
  };
  Hwmon(Dir dir, std::vector<Sensor> sensors) : dir_(std::move(dir)), sensors_(std::move(sensors)) {}
  Dir dir_;
  std::vector<Sensor> sensors_;
  Duration averages_over_{};
};

}  // namespace wattle::agent
