// unit_manager: reads and writes limits of a systemd unit.
// Source   org.freedesktop.systemd1 (org.freedesktop.systemd1(5))
// Units    CPUQuotaPerSecUSec: us of CPU per second; MemoryHigh, MemoryLow: bytes; kNoLimit: infinity
// Errors   not_found: unknown unit; denied, out_of_range, unsupported: refused; unavailable: no answer, and nothing
//          was changed; timeout: no answer yet, and a write may or may not take effect
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::actuator {

enum class UnitProperty : std::uint8_t { quota, high, low };
inline constexpr std::array<const char*, 3> kUnitPropertyNames{"CPUQuotaPerSecUSec", "MemoryHigh", "MemoryLow"};
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

class UnitManager {
 public:
  UnitManager() = default;
  UnitManager(const UnitManager&) = delete;
  UnitManager& operator=(const UnitManager&) = delete;
  virtual ~UnitManager() = default;
  // Cgroup of the unit, "/system.slice/a.service"; empty if it does not run.
  virtual Result<std::string> cgroup_of(const std::string& unit) = 0;
  virtual Result<std::uint64_t> read(const std::string& unit, UnitProperty property) = 0;
  // Stays in force until reboot.
  virtual Status write(const std::string& unit, UnitProperty property, std::uint64_t value) = 0;
};

// Accepts the name of a service, scope or slice; only these have limits.
bool is_unit_name(std::string_view name);

}  // namespace wattle::actuator
