// sleep_states: the power states of nodes as operators see them, in documents, metrics and alarms.
// Source   records, history and totals of power::SleepControl
// Rules    a node that is put to sleep or woken may be silent: it is not lost. A node that is blocked because an
//          operator excluded it counts as awake
// Format   docs/reference/api.md, sleep; docs/reference/metrics.md
// Units    in names; Unix time
// Errors   none
// Threads  the loop's
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "controller/parts.hpp"
#include "controller/web/alarms.hpp"
#include "controller/web/metric_families.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller {

// No value: Wattle does not change the node's power.
std::optional<placement::sleep::PowerState> power_state_of(const power::SleepControl& sleep, const std::string& node);
// The node is asleep, going to sleep or waking.
bool may_be_silent(const power::SleepControl& sleep, const std::string& node);

// State, start and reason; null without a record.
SortedJson power_json(const power::SleepControl& sleep, const std::string& node);
// Includes all fields of a record.
SortedJson power_record_json(const Parts& from, const placement::sleep::NodePowerRecord& record);
// The cost is that of what complete round trips saved, tests apart.
SortedJson sleep_totals_json(const Parts& from);
// Transitions of one node, or of all if `node` is empty; the newest first, at most `limit`.
SortedJson transitions_json(const power::SleepControl& sleep, const std::string& node, std::size_t limit);

void add_sleep_states(Families& families, const power::SleepControl& sleep);
std::vector<Alarm> sleep_alarms(const Parts& from);

}  // namespace wattle::controller
