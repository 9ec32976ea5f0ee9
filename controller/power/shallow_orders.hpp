// shallow_orders: asks agents of idle nodes that stay awake to be shallow, that is to use the lowest energy settings
// (agent/power/shallow_depth.hpp).
// Which    a node with the label auto, whose agent offers the feature "shallow" and which the plan keeps awake. Neither
//          a node of the control plane, of the last scheduler or of the controller, nor one that an operator excluded
//          or that woke recently, nor one with work
// Work     a pod on the node or expected there, other than those of DaemonSets without a latency limit
// Order    a SleepOrder of depth "shallow" for kShallowFor, repeated every kRepeatEvery while plans choose the node.
//          With 0 s it ends: in the turn after a plan without the node, or with work on it. An agent that gets no
//          further order ends it by itself
// Errors   logged; the next plan sends again
// Threads  choose_shallow: any; the others: the loop's
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/wire/messages.hpp"
#include "controller/power/sleep_snapshot.hpp"

namespace wattle::controller::power {

inline constexpr Duration kShallowFor = std::chrono::minutes(3), kRepeatEvery = std::chrono::minutes(1);
inline constexpr std::string_view kShallow = "shallow";  // as depth and as feature

// Returns whether the node's agent offers it, and the node has no work.
bool offers_shallow(const ClusterState& state, const controller::Node& node);
// Names of the nodes of the plan that should be shallow. Adds "(shallow)" to the reason that keeps each awake.
std::set<std::string> choose_shallow(const SleepSnapshot& snapshot, placement::sleep::SleepPlan& plan);

class ShallowOrders {
 public:
  using Send = std::function<Status(const std::string& node, const wire::SleepOrder& order)>;
  ShallowOrders(const Clock& clock, const Log& log) : clock_(clock), log_(log) {}
  void on_send(Send send) { send_ = std::move(send); }
  // Sets the choice of a plan; the next turn sends it.
  void choose(std::set<std::string> nodes);
  // Call each second.
  void turn(const ClusterState& state);
  // Ends it on that node until another plan chooses it.
  void end(const std::string& node);

 private:
  bool send(const std::string& node, Duration time) const;

  const Clock& clock_;
  const Log& log_;
  Send send_;
  std::set<std::string> chosen_;
  bool new_choice_ = false;
  std::map<std::string, MonoTime> sent_;  // last order by node
};

}  // namespace wattle::controller::power
