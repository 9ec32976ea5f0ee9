// accept_run: implements `wattle-agent accept`: runs this machine through the phases of accept.hpp.
// Loads    child processes, in their own cgroups if those can be made; both are removed at the end
// Errors   those of the sampler; a report that cannot be written. On a captured tree no load runs, because the tree
//          describes another machine
// Threads  the caller's
#pragma once

#include <string>

#include "agent/config.hpp"
#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct AcceptOptions {
  Duration phase = std::chrono::minutes(2);
  std::string report;  // file for the JSON; empty: none
  bool json = false;   // print JSON instead of text
};

// Returns true if accepted.
Result<bool> run_accept(AgentConfig config, const AcceptOptions& options, const Clock& clock);

}  // namespace wattle::agent
