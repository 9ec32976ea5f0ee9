// run: runs the actuator: restores the limits of an earlier process, ticks every 100 ms, and restores all limits when
// it ends.
// Errors   a damaged record (after restoring its intact entries); an unusable state directory, socket or cgroup tree;
//          at the end, limits that could not be restored
// Threads  one, and one in the helper process that talks to systemd (unit_helper.hpp)
#pragma once

#include <optional>
#include <string>

#include "actuator/config.hpp"
#include "actuator/ledger.hpp"
#include "actuator/machine.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::actuator {

Status run(const ActuatorConfig& config, const Machine& machine, const Clock& clock, const Log& log);
// Restores the limits of a process that has ended; conflict while one runs.
Result<Restored> restore(const ActuatorConfig& config, const Machine& machine);
// Damage of the record in config.state_dir; no value if there is none or the boot id is unknown.
std::optional<Error> record_damage(const ActuatorConfig& config, const Machine& machine);

}  // namespace wattle::actuator
