// accept_run: `wattle-agent accept`: this machine through the phases of accept.hpp.
// Loads    processes of our own, in cgroups of their own where those can be made; they end with this one, and their cgroups go
// Errors   what the sampler needs; what cannot be written. A captured tree gets no load: its machine is not this one
// Threads  the caller's
#pragma once

#include <string>

#include "agent/config.hpp"
#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct AcceptOptions {
  Duration phase = std::chrono::minutes(2);
  std::string report;  // JSON goes there as well; empty: nowhere
  bool json = false;   // in place of text on standard output
};

// True: accepted.
Result<bool> run_accept(AgentConfig config, const AcceptOptions& options, const Clock& clock);

}  // namespace wattle::agent
