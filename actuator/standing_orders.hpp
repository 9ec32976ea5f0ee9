// standing_orders: the orders in force: those of the configuration, and those of the agent unless it falls silent.
// Merge    the configuration takes precedence. If one workload is inside another, only the outer one counts
// Bounds   actuation::kMaxWorkloads
// Errors   none: a path that cannot be normalised stays unchanged and matches no workload
// Threads  single owner
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/actuation.hpp"
#include "common/clock.hpp"

namespace wattle::actuator {

// Orders of an agent that is silent for longer expire.
inline constexpr Duration kSilence = std::chrono::seconds(10);

class StandingOrders {
 public:
  // Orders from the configuration; they never expire.
  void own(std::vector<actuation::Order> orders);
  // Orders from the agent, sent every second.
  void receive(actuation::Orders orders, MonoTime now);
  // Forgets the agent's orders if it is silent. Returns levels by path if they may have changed since the last call.
  std::optional<std::map<std::string, actuation::Level>> take_levels(MonoTime now);
  // Returns true if orders of the agent arrived or expired since the last call.
  bool take_received();
  // Orders in force, with normal paths; no value: none.
  const std::optional<actuation::Orders>& agent() const { return agent_; }

 private:
  std::vector<actuation::Order> own_;
  std::optional<actuation::Orders> agent_;
  MonoTime received_at_;
  bool changed_ = true, received_ = false;
};

}  // namespace wattle::actuator
