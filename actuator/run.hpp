// run: the actuator at work: puts back what a process before it left, ticks each 100 ms, puts back all at its end.
// Errors   state directory, socket or cgroups that are not as they should be; at the end, limits that could not be put back
// Threads  one, and one of a helper that speaks to systemd (unit_helper.hpp)
#pragma once

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

}  // namespace wattle::actuator
