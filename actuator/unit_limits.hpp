// unit_limits: sets limits of systemd units through systemd, and those of other cgroups in the kernel's files.
// Source   CPUQuotaPerSecUSec, MemoryHigh and MemoryLow through UnitManager, and the cpu.max, memory.high and
//          memory.low that systemd writes for them; cpu.max.burst, which systemd does not know, in its file
// Rules    systemd's drop-ins store whole percents of a core, so only such values are written: a daemon-reload then
//          keeps the value. systemd and the kernel must agree before a write and after it. The period is only read.
// Errors   those of Limits; conflict: systemd and the kernel differ, so another writer bypasses systemd
// Threads  single owner
#pragma once

#include <map>
#include <optional>
#include <string>

#include "actuator/cgroup_limits.hpp"
#include "actuator/limits.hpp"
#include "actuator/unit_manager.hpp"

namespace wattle::actuator {

class UnitLimits final : public Limits {
 public:
  // Without a manager, all limits are in the kernel's files. `control_dir`: systemd's drop-ins,
  // /run/systemd/system.control.
  UnitLimits(CgroupLimits& cgroups, UnitManager* manager, std::string control_dir)
      : cgroups_(cgroups), manager_(manager), control_dir_(std::move(control_dir)) {}

  Result<Target> find(const std::string& path) override;
  Result<std::int64_t> read(const Target& target, Knob knob, std::optional<std::int64_t> ours) override;
  Status write(const Target& target, Knob knob, std::int64_t value) override;
  std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const override;
  void forget(const Target& target) override;
  Status yield(const Target& target, Knob knob, std::int64_t original, std::int64_t theirs) override;
  bool leaves_trace(const Target& target, Knob knob) const override;
  Trace trace(const Target& target, Knob knob, std::int64_t value) const override;
  Status erase(const Target& target, Knob knob, std::int64_t value) override;

 private:
  Result<Target> cgroup_of(const Target& unit);
  // Value in the kernel; unset if the unit does not run.
  Result<std::optional<std::int64_t>> in_force(const Target& unit, Knob knob);
  Status write_file(const Target& unit, Knob knob, std::int64_t value);
  Result<std::int64_t> reported(const Target& unit, Knob knob);
  // Value that the kernel has after systemd applied `value`.
  std::int64_t made_of(const Target& unit, Knob knob, std::int64_t value) const;
  std::string drop_ins(const Target& unit) const;

  CgroupLimits& cgroups_;
  UnitManager* manager_;
  std::string control_dir_;
  std::map<Target, Target> cgroups_of_;
};

}  // namespace wattle::actuator
