// empty_orders: orders to put empty nodes to sleep, which a caller repeats until a plan has decided. An order changes
// neither rules nor states: it only asks for a plan now, and the node sleeps if that plan chooses it.
// Caller   Cluster Autoscaler's provider (autoscaler/), which has drained the node
// Errors   not_found (no node that sleeps by itself), unavailable (the plan is still being made: repeat the order),
//          conflict (the plan keeps the node awake, or it is waking)
// Threads  single owner
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "placement/sleep/sleep_plan.hpp"

namespace wattle::controller::power {

class EmptyOrders {
 public:
  // An order that has not been repeated for so long is forgotten.
  static constexpr Duration kForgottenAfter = std::chrono::seconds(10);

  // Returns whether an order waits for a plan that begins later than `planned`.
  bool wait_for_plan(std::optional<MonoTime> planned) const;
  // Returns the state of a node that sleeps, or that is about to. `record`: null: the node has none. `plan`: the last
  // one, which began at `planned`; null: none since, or one is being made.
  Result<placement::sleep::PowerState> answer(const std::string& node, const placement::sleep::NodePowerRecord* record,
                                              const placement::sleep::SleepPlan* plan, std::optional<MonoTime> planned,
                                              MonoTime now);

 private:
  struct Order {
    MonoTime first{}, last{};
  };
  std::map<std::string, Order> orders_;  // by node
};

}  // namespace wattle::controller::power
