// limits: the interface to the keeper of a workload's limits: the kernel's cgroup files, or systemd.
// Units    quota and burst in us per period, memory in bytes; kUnlimited if the kernel has "max" or -1
// Errors   not_found: the workload is gone, which is normal; unsupported: the knob does not exist here; out_of_range:
//          the value is refused (EINVAL: burst above quota, quota above the parent's); timeout: it may or may not take
//          effect later
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

enum class Knob : std::uint8_t { quota_us, burst_us, high_bytes, low_bytes };
inline constexpr std::array kKnobs{Knob::quota_us, Knob::burst_us, Knob::high_bytes, Knob::low_bytes};
inline constexpr std::array<const char*, 4> kKnobNames{"quota_us", "burst_us", "high_bytes", "low_bytes"};

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLeastQuota_us = 1000;  // minimum of the kernel

enum class Seam : std::uint8_t { cgroup2, cgroup1, unit };
inline constexpr std::array<const char*, 3> kSeamNames{"cgroup2", "cgroup1", "unit"};

// Lifetime of a workload: the same path with another id is another workload.
struct Target {
  Seam seam = Seam::cgroup2;
  std::string
      name;  // path of the cgroup below its mount, "/system.slice/a.service"; its last part is the name of a unit
  std::uint64_t id = 0;  // inode of the cgroup; 0 for a unit, whose settings survive its cgroups

  auto operator<=>(const Target&) const = default;
};

// Value for each knob; unset: unknown, or not wanted.
class Values {
 public:
  std::optional<std::int64_t>& operator[](Knob knob) { return values_[static_cast<std::size_t>(knob)]; }
  const std::optional<std::int64_t>& operator[](Knob knob) const { return values_[static_cast<std::size_t>(knob)]; }
  bool operator==(const Values&) const = default;

 private:
  std::array<std::optional<std::int64_t>, kKnobs.size()> values_;
};

// State that a write leaves outside the kernel: systemd's drop-in.
enum class Trace : std::uint8_t { none, says, other };

class Limits {
 public:
  Limits() = default;
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  virtual ~Limits() = default;
  // Returns the current target with this path, "/system.slice/a.service".
  virtual Result<Target> find(const std::string& path) = 0;
  // Reads a knob; `ours` is our last value, if any. If two places with a limit differ, returns the one that is not
  // ours.
  virtual Result<std::int64_t> read(const Target& target, Knob knob, std::optional<std::int64_t> ours) = 0;
  virtual Status write(const Target& target, Knob knob, std::int64_t value) = 0;
  // Value that a read returns after `value` was written: the kernel rounds memory to pages, systemd quotas to 10 ms per
  // second.
  virtual std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const = 0;
  // Releases the target; it is not used again.
  virtual void forget(const Target& target) = 0;

  // Resolves a conflict in which one of two places has another writer's value: replaces ours in the other by the
  // original.
  virtual Status yield(const Target&, Knob, std::int64_t /*original*/, std::int64_t /*theirs*/) { return {}; }
  // Reports whether a write leaves a trace, and its state relative to `value`; removes it if it contains `value`.
  virtual bool leaves_trace(const Target&, Knob) const { return false; }
  virtual Trace trace(const Target&, Knob, std::int64_t /*value*/) const { return Trace::none; }
  virtual Status erase(const Target&, Knob, std::int64_t /*value*/) { return {}; }
};

}  // namespace wattle::actuator
