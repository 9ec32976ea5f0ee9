// lookahead: computes the cost of each action of a service by trying it. Copies of the world take one action each,
// receive the same requests, and continue under the integral rule, which keeps memory and replicas as the action left
// them.
// Gives    costs for a teacher to learn from, and a bound: a contestant that takes the cheapest action each minute
// Futures  0: the actual future requests, so that a policy based on the costs is clairvoyant. Otherwise requests are
//          redrawn that many times (the rates of the trace stay known), equally for all actions, and costs are means
// Units    costs as provision/minute/choice.hpp, mean of a minute, summed over the services of a chain
// Errors   errors of a world's write
// Threads  single owner
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

struct LookaheadOptions {
  std::size_t minutes = 5;  // minutes simulated per action
  std::size_t futures = 0;
  double minute_price = 0;  // price of each minute whose 99th percentile is over the target, in addition to its cost
};

// Costs for a service at the end of a minute; unset if the action is not possible, or the trace ends with that minute.
using ActionCosts = std::array<std::optional<double>, models::provision::kActions>;

// The services of a world; both are copied to try a future.
struct Running {
  World world;
  Steered services;
  Status tick(std::vector<std::optional<actuator::CpuLimit>>& next);
};

// Returns the action with which the service continues.
using Choose = std::function<std::size_t(std::size_t service, const MinuteOfService& seen, const ActionCosts& costs)>;

// Plays a world to its end. At each minute, tries all actions of each service and calls `choose`.
Result<Figures> play_looking_ahead(const WorldOptions& world, const SteerOptions& steer,
                                   const LookaheadOptions& options, const Choose& choose);

// Returns the cheapest action; the one that keeps all settings if there are no costs.
std::size_t cheapest(const ActionCosts& costs);

}  // namespace wattle::sim::provision
