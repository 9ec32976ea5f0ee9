// limits: the seam to whoever keeps the limits of workloads: the kernel's cgroup files, or systemd.
// Units    quota and burst in us a period, memory in bytes; kUnlimited where the kernel says "max" or -1
// Errors   not_found: the workload is gone, which is the end of it and nobody's mistake; unsupported: there is no such knob here;
//          out_of_range: refused as a value (EINVAL: burst above quota, quota above the parent's)
// Threads  single owner
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "common/result.hpp"

namespace wattle::actuator {

enum class Knob : std::uint8_t { quota_us, burst_us, high_bytes };
inline constexpr std::array kKnobs{Knob::quota_us, Knob::burst_us, Knob::high_bytes};
inline constexpr std::array<const char*, 3> kKnobNames{"quota_us", "burst_us", "high_bytes"};

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLeastQuota_us = 1000;  // the kernel's own bound

enum class Seam : std::uint8_t { cgroup2, cgroup1, unit };
inline constexpr std::array<const char*, 3> kSeamNames{"cgroup2", "cgroup1", "unit"};

// One life of a workload: the same path with another id is another.
struct Target {
  Seam seam = Seam::cgroup2;
  std::string name;      // path of the cgroup below its mount, "/system.slice/a.service"; for a unit its name
  std::uint64_t id = 0;  // inode of the cgroup

  auto operator<=>(const Target&) const = default;
};

// One value a knob; absent: not known, or not wanted.
class Values {
 public:
  std::optional<std::int64_t>& operator[](Knob knob) { return values_[static_cast<std::size_t>(knob)]; }
  const std::optional<std::int64_t>& operator[](Knob knob) const { return values_[static_cast<std::size_t>(knob)]; }
  bool operator==(const Values&) const = default;

 private:
  std::array<std::optional<std::int64_t>, kKnobs.size()> values_;
};

class Limits {
 public:
  Limits() = default;
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  virtual ~Limits() = default;
  virtual Result<std::int64_t> read(const Target& target, Knob knob) = 0;
  virtual Status write(const Target& target, Knob knob, std::int64_t value) = 0;
  // What a read gives after `value` was written: the kernel rounds memory to pages, systemd quotas to 10 ms.
  virtual std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const = 0;
  // It will not be asked of again.
  virtual void forget(const Target& target) = 0;
};

}  // namespace wattle::actuator
