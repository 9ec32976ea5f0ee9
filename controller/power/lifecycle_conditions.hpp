// lifecycle_conditions: the conditions DrainInProgress, Drained and MaintenanceInProgress of a Node, from Kubernetes
// 1.37 on. They report a node's lifecycle to other tools; Kubernetes itself does not act on them.
// Source   GET /version; a v1.Node
// Owners   a condition whose reason is kSleepReason is Wattle's. Conditions that another writer has set to True stay
// Errors   parse_has_conditions: malformed
// Threads  pure functions
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/kube/node_drainer.hpp"
#include "common/result.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

using kube::kSleepReason;

// Returns whether the server's version knows the conditions. `body`: the answer to GET /version.
Result<bool> parse_has_conditions(const std::string& body);

// Strategic merge patch of the status. A node without Wattle's marks has none of Wattle's conditions. No value: nothing
// to change.
std::optional<SortedJson> patch_conditions(const SortedJson& node, const placement::sleep::NodePowerRecord& record,
                                           WallTime now);

}  // namespace wattle::controller::power
