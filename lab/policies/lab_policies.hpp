// lab_policies: policies that no operator should serve, and the schedulers of other projects, by name, in addition to
// the controller's. They compete under the controller's decision engine (sim/policies/contestant).
// Errors   not_found, with the names
// Threads  pure functions
#pragma once

#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim {

// Returns the contestant of that name, of the lab or of sim/policies. Other projects' schedulers decide alone, because
// they have no extender.
Result<Contestant> lab_contestant(std::string_view name, const models::QNetwork* network = nullptr);

}  // namespace wattle::sim
