// cgroup_limits: reads and writes limits in the kernel's cgroup files, in whichever of v2 and v1 has the CPU
// controller.
// Source   v2: cpu.max, cpu.max.burst, memory.high, memory.low; v1: cpu.cfs_quota_us, cpu.cfs_burst_us (v1 has neither
//          memory.high nor memory.low); the period is only read. Mount points from <proc>/self/mountinfo
// Errors   those of Limits; find: not_found, and unsupported if the cgroup has neither the CPU nor the memory
//          controller; require: unsupported, with the controller to enable
// Cost     2 us per read, 4 us per write: descriptors stay open while a target is in use
// Threads  single owner
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "actuator/limits.hpp"
#include "actuator/os.hpp"
#include "common/dir.hpp"

namespace wattle::actuator {

// Mount points of the hierarchies; unset if not mounted.
struct CgroupMounts {
  std::optional<Dir> v2, cpu, cpuacct;

  // `prefix` precedes each path of the machine: a captured tree, or the host's root in a container.
  static Result<CgroupMounts> open_(const std::string& prefix);
};

// Parses "max 100000\n", "50000\n" or "-1\n"; no value for any other text.
std::optional<std::int64_t> parse_limit(std::string_view text);
// Returns the second number of cpu.max.
std::optional<std::int64_t> parse_period_us(std::string_view text);

// Least memory.low of the ancestors of a cgroup, and the ancestor that has it. Reclaim of the whole node protects no
// more than that; reclaim within one of the ancestors considers only the ancestors below it.
struct AncestorProtection {
  std::int64_t bytes = kUnlimited;
  std::string path;  // empty: the cgroup has no ancestor but the root, which has no memory.low
};

class CgroupLimits final : public Limits {
 public:
  CgroupLimits(CgroupMounts mounts, Os& os);
  Result<Target> find(const std::string& path) override;
  Result<Dir> open_dir(const Target& target) const;
  // Checks that the cgroup has the file of this knob.
  Status require(const Target& target, Knob knob) const;
  Result<AncestorProtection> protection_above(const Target& target) const;
  Result<std::int64_t> period_us(const Target& target);
  const CgroupMounts& mounts() const { return mounts_; }

  Result<std::int64_t> read(const Target& target, Knob knob) { return read(target, knob, std::nullopt); }
  Result<std::int64_t> read(const Target& target, Knob knob, std::optional<std::int64_t> ours) override;
  Status write(const Target& target, Knob knob, std::int64_t value) override;
  std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const override;
  void forget(const Target& target) override { kept_.erase(target); }

 private:
  Result<const Fd*> file(const Target& target, Knob knob);

  CgroupMounts mounts_;
  Os* os_;
  std::int64_t page_bytes_;
  std::map<Target, std::array<Fd, kKnobs.size()>> kept_;
};

}  // namespace wattle::actuator
