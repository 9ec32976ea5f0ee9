// lookahead: what each action of a service would cost, by trying it: copies of the world take one action each, meet the same
// requests, and are steered on by the integral rule, which keeps memory and replicas as the action left them.
// Gives    costs for a teacher to learn from, and a bound: who takes the cheapest action each minute
// Futures  0: the requests that will come, so that who goes by it is clairvoyant; else requests are drawn anew so many times (the
//          rates of the trace stay known), alike for all actions, and costs are means
// Units    costs as models/provision/choice.hpp, mean of a minute, summed over the services of a chain
// Errors   what a world's write refuses
// Threads  single owner
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

struct LookaheadOptions {
  std::size_t minutes = 5;  // that are followed
  std::size_t futures = 0;
  double minute_price = 0;  // of each minute whose 99th percentile is over the target, beyond its cost
};

// Of a service at a minute that has just ended; absent: the action cannot be taken, or the trace ends with that minute.
using ActionCosts = std::array<std::optional<double>, models::provision::kActions>;

// The services of a world, both of which are copied where a future is tried.
struct Running {
  World world;
  Steered services;
  Status tick(std::vector<std::optional<actuator::CpuLimit>>& next);
};

// The action with which the service goes on.
using Choose = std::function<std::size_t(std::size_t service, const MinuteOfService& seen, const ActionCosts& costs)>;

// Plays a world to its end; at each minute of each service tries all and asks.
Result<Figures> play_looking_ahead(const WorldOptions& world, const SteerOptions& steer,
                                   const LookaheadOptions& options, const Choose& choose);

// The cheapest; to keep all, where none was tried.
std::size_t cheapest(const ActionCosts& costs);

}  // namespace wattle::sim::provision
