// unit_limits: limits of systemd's units, told to systemd; those of any other cgroup are left to the kernel's files.
// Source   CPUQuotaPerSecUSec and MemoryHigh by UnitManager, beside cpu.max and memory.high that systemd writes by them;
//          cpu.max.burst, of which systemd knows nothing, in its file
// Rules    systemd keeps a drop-in of each property, with whole percents of a core: only those are written, so that a daemon-reload
//          makes the same of it. What systemd says and what the kernel has must be the same before anything is written, and after
//          The period is read and never written
// Errors   those of Limits; conflict: systemd and the kernel say different things, so that somebody writes past systemd
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
  // Without a manager all cgroups are the kernel's. `control_dir`: where systemd keeps drop-ins, /run/systemd/system.control.
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
  // What the kernel has; absent: the unit does not run.
  Result<std::optional<std::int64_t>> in_force(const Target& unit, Knob knob);
  Status write_file(const Target& unit, Knob knob, std::int64_t value);
  Result<std::int64_t> told(const Target& unit, Knob knob);
  // What the kernel has once systemd did what it was told.
  std::int64_t made_of(const Target& unit, Knob knob, std::int64_t value) const;
  std::string drop_ins(const Target& unit) const;

  CgroupLimits& cgroups_;
  UnitManager* manager_;
  std::string control_dir_;
  std::map<Target, Target> cgroups_of_;
};

}  // namespace wattle::actuator
