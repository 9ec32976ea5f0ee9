// limits: the seam to whoever keeps the limits of workloads: the kernel's cgroup files, or systemd.
// Units    quota and burst in us a period, memory in bytes; kUnlimited where the kernel says "max" or -1
// Errors   not_found: the workload is gone, which is the end of it and nobody's mistake; unsupported: there is no such knob here;
//          out_of_range: refused as a value (EINVAL: burst above quota, quota above the parent's); timeout: it may or may not
//          come into force yet
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
  std::string
      name;  // path of the cgroup below its mount, "/system.slice/a.service"; the last part of a unit's is its name
  std::uint64_t id = 0;  // inode of the cgroup; of a unit 0: what systemd was told of it outlives its cgroups

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

// What a keeper made of our writes that is kept elsewhere: systemd's drop-in.
enum class Trace : std::uint8_t { none, says, other };

class Limits {
 public:
  Limits() = default;
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  virtual ~Limits() = default;
  // The cgroup of this path, "/system.slice/a.service", as it lives now.
  virtual Result<Target> find(const std::string& path) = 0;
  // `ours`: what we wrote last, if we did. Where a limit is kept in two places that differ, it is the one that is not ours.
  virtual Result<std::int64_t> read(const Target& target, Knob knob, std::optional<std::int64_t> ours) = 0;
  virtual Status write(const Target& target, Knob knob, std::int64_t value) = 0;
  // What a read gives after `value` was written: the kernel rounds memory to pages, systemd quotas to 10 ms a second.
  virtual std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const = 0;
  // It will not be asked of again.
  virtual void forget(const Target& target) = 0;

  // Somebody else's value is in one of two places: what is ours in the other becomes what was there.
  virtual Status yield(const Target&, Knob, std::int64_t /*original*/, std::int64_t /*theirs*/) { return {}; }
  // Whether a write leaves a trace, what it is against `value`, and taking it away when it says `value`.
  virtual bool leaves_trace(const Target&, Knob) const { return false; }
  virtual Trace trace(const Target&, Knob, std::int64_t /*value*/) const { return Trace::none; }
  virtual Status erase(const Target&, Knob, std::int64_t /*value*/) { return {}; }
};

}  // namespace wattle::actuator
