// run: the agent's main loop: a sample at every tick, through the outbox to the controller, and a metrics page.
// Errors   invalid keys, state directory, endpoint or address; once running, only SIGINT or SIGTERM ends it
// Threads  the caller's for ticks and session; the prober's; ZeroMQ's; HTTP workers
#pragma once

#include "agent/config.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::agent {

Status run(const AgentConfig& config, const Clock& clock, const Log& log);

}  // namespace wattle::agent
