// run: runs the actuator: restores the limits of an earlier process, ticks every 100 ms, and restores all limits when
// it ends.
// Errors   a damaged record (after restoring its intact entries); an unusable state directory, socket or cgroup tree;
//          at the end, limits that could not be restored
// Threads  one, and one in the helper process that talks to systemd (unit_helper.hpp)
#pragma once

#include <unistd.h>

#include <optional>
#include <string>

#include "actuator/config.hpp"
#include "actuator/ledger.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::actuator {

// Paths of this machine that the actuator uses. `prefix` precedes each path; it is "" on the machine itself.
struct Machine {
  std::string prefix;
  std::string proc() const { return prefix + "/proc"; }
  // Same check as sd_booted(3).
  bool has_systemd() const { return ::access((prefix + "/run/systemd/system").c_str(), F_OK) == 0; }
  std::string bus_socket() const { return prefix + "/run/dbus/system_bus_socket"; }
  std::string control_dir() const { return prefix + "/run/systemd/system.control"; }
};

Status run(const ActuatorConfig& config, const Machine& machine, const Clock& clock, const Log& log);
// Restores the limits of a process that has ended; conflict while one runs.
Result<Restored> restore(const ActuatorConfig& config, const Machine& machine);
// Damage of the record in config.state_dir; no value if there is none or the boot id is unknown.
std::optional<Error> record_damage(const ActuatorConfig& config, const Machine& machine);

}  // namespace wattle::actuator
