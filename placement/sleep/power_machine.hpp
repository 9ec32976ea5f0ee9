// power_machine: the transitions of one node's power. The controller reports events, stores the record, and then
// carries out the action; a simulator does the same. Nothing here acts.
// Asleep   only after the agent's goodbye with the number of the current operation and an observation of off. If no
//          driver can observe the node, only the goodbye counts, and the record is `presumed`
// Failed   contact lost without a goodbye, or no wake. A failed node gets no marks
// Back     every step before suspending is reversible. Once a node is suspending, a wake waits until the sleep has
//          ended. Marks of a node that was ordered to sleep are removed when it is ready, or when it has failed
// Number   one operation at a time: a transaction (mark, drain, sleep) and each attempt to wake get a number, after the
//          operation before has ended or is overdue. Reports with another number are ignored
// Limits   each state except awake has a time limit and a way out. A node that failed by itself waits for its agent
// Repeats  a repeated event changes nothing
// Order    store the record, then act. An action may be repeated: after a crash the caller observes the node, calls
//          recover(), and carries out its action
// Goodbye  agents say goodbye only to a controller that acknowledges it, so that no node goes to sleep without a
//          controller
// Clock    wall time; the caller moves a record's times with a step of the clock (wall_step). If the clock stepped back
//          behind the start of a state while the program did not run, the limit starts again
// Errors   none: an event that does not apply in a state is ignored
// Threads  pure functions
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::placement::sleep {

struct PowerLimits {
  Duration idle = std::chrono::minutes(10);  // until the marks are seen and the node is still empty
  Duration draining = std::chrono::hours(6);
  Duration suspending = std::chrono::minutes(3);
  Duration asleep = std::chrono::hours(72);    // longest sleep
  Duration waking = std::chrono::minutes(10);  // per attempt; or twice the measured wake time if that is longer
  Duration probation = std::chrono::minutes(10);
  Duration blocked = std::chrono::hours(24);
  Duration failed = std::chrono::hours(1);  // until the next attempt to wake a node that Wattle put to sleep
  Duration unknown = std::chrono::minutes(15);
  std::uint32_t wake_attempts = 3;
  std::uint32_t failures_to_block = 3;  // failed round trips in a row
};

struct PowerEvent {
  enum class Kind : std::uint8_t {
    chosen,         // by the sleep plan, for a node that is empty
    chosen_drain,   // by the sleep plan, for a node that has pods
    marked,         // its marks are visible to the scheduler
    unmarked,       // its marks are removed
    drained,        // the marks are visible, and no pods are left other than those of DaemonSets and static ones
    drain_stopped,  // a pod arrived, did not leave, or was bound to another node than planned
    goodbye,        // of its agent
    observed,
    action_failed,   // the driver or the agent refused or gave up the current operation
    wake_wanted,     // pending pods, forecast, operator, or a pod that is bound to the node
    ready,           // kubelet Ready, agent fresh, clock in sync
    contact_lost,    // the agent has been silent for too long
    agent_returned,  // it connected again, or reports after its goodbye
    excluded,        // an operator or a rule forbids sleep
    allowed,         // ends blocked
    deadline         // the caller checks whether the limit of the state has passed
  };
  Kind kind{};
  std::uint64_t operation = 0;            // of drained, drain_stopped, goodbye, action_failed
  Observed observed = Observed::unknown;  // of observed
  Depth depth = Depth::suspend;           // of chosen, chosen_drain
  std::string reason = {};                // of all that have a cause, for people
};
inline constexpr std::size_t kPowerEvents = static_cast<std::size_t>(PowerEvent::Kind::deadline) + 1;
std::string_view to_string(PowerEvent::Kind kind);

enum class PowerAction : std::uint8_t {
  none,
  mark,     // cordon, taint and label; then report `marked`
  evict,    // move the pods as planned; then report `drained` or `drain_stopped`
  sleep,    // order the node to sleep, with the record's operation and depth
  wake,     // order the node to wake, with the record's operation
  observe,  // ask the driver; then report `observed`
  unmark    // remove the marks; then report `unmarked`
};
std::string_view to_string(PowerAction action);

struct PowerStep {
  NodePowerRecord record;
  PowerAction action = PowerAction::none;
  bool changed = false;  // store the record before the action
};

PowerStep step(const NodePowerRecord& record, const PowerEvent& event, WallTime now, const PowerLimits& limits);

// The record and the action after a restart of the controller, from a stored record and a new observation of the node.
// Drains are stopped, because their reservations ended with the program, and so is the sleep of an empty node that the
// plan chose. A test that an operator ordered continues.
PowerStep recover(const NodePowerRecord& record, Observed observed, WallTime now, const PowerLimits& limits);

// Action that the state calls for; the caller may repeat it until its event comes.
PowerAction action_of(const NodePowerRecord& record);

// End of the state's limit. No value: the state has none.
std::optional<WallTime> deadline_of(const NodePowerRecord& record, const PowerLimits& limits);

}  // namespace wattle::placement::sleep
