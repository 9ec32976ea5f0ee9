// run: the actuator at work: puts back what a process before it left, ticks each 100 ms, puts back all at its end.
// Errors   a damaged record (what it says is put back first); state directory, socket or cgroups that are not as they should be; at the end, limits that could not be put back
// Threads  one, and one of a helper that speaks to systemd (unit_helper.hpp)
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
// What a process left that is no more; conflict while one runs.
Result<Restored> restore(const ActuatorConfig& config, const Machine& machine);
// The damage of the record in config.state_dir; no value: none, or no boot id is known.
std::optional<Error> record_damage(const ActuatorConfig& config, const Machine& machine);

}  // namespace wattle::actuator
