// node_now: a node as the loop sees it, and the events of placement/sleep/power_machine that follow from that.
// Returned   the agent reports again. This counts at once for a node that was given up or is to wake. After a goodbye
//            the agent may still report until the node is off; the grace period is longest if no driver can observe
//            that
// Effect     an order had none if the node is still on after kOrderAgain or twice its measured time to sleep, or if it
//            is still off or not observable kOrderAgain after the order to wake. An order to sleep is not repeated once
//            a wake is wanted, because the node may have a pod
// Empty      a marked node counts as empty kSettle after its marks were set, because a pod may have been bound before
// Units      in names
// Errors     none
// Threads    pure functions
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "placement/sleep/power_machine.hpp"
#include "placement/sleep/transition_meter.hpp"

namespace wattle::controller::power {

inline constexpr Duration kSettle = std::chrono::seconds(5), kOrderAgain = std::chrono::seconds(30);
inline constexpr Duration kGoesOff = std::chrono::seconds(60), kIsOff = std::chrono::seconds(5);

// A node as the loop sees it.
struct NodeNow {
  Node node;               // the labels choose its drivers
  std::string drivers;     // for people
  bool managed = false;    // label and sleep.mode let it sleep by itself
  bool forbidden = false;  // its label is known and does not let it sleep by itself
  bool by_agent = false;   // its agent puts it to sleep; else a driver of the controller does
  bool fresh = false;      // its agent reports
  std::optional<MonoTime> sampled_at = {};
  bool ready = false;        // its kubelet, if it has one, and its clock
  bool pods_read = true;     // no pod can be missing in `pod` because the controller has just started
  std::string pod = {};      // a pod on the node or expected there, of no DaemonSet; empty: none
  std::string held_by = {};  // another program that keeps the node empty, in words; empty: none
  bool emptied = false;      // another program moves its pods away
  double idle_w = 0;
  std::optional<placement::sleep::PowerReading> reading = {};  // the last of its agent
};

// When things happened to the node, on the controller's clock.
struct NodeTimes {
  MonoTime entered{};  // the state
  MonoTime contact{};  // last report, or start of the controller
  std::optional<MonoTime> marked = {};
};

// Returns the events in the order in which they count. `drained`: the node has no drain, or it is done. `lost_after`:
// silence that counts as a loss.
std::vector<placement::sleep::PowerEvent> events_of(const placement::sleep::NodePowerRecord& record, const NodeNow& now,
                                                    const NodeTimes& times, bool drained, MonoTime at,
                                                    Duration lost_after);

// Returns whether an order that was accepted that long ago has had no effect, so that it must be repeated.
bool had_no_effect(const placement::sleep::NodePowerRecord& record, placement::sleep::Observed seen, Duration taken);

}  // namespace wattle::controller::power
