// transition_meter: joules of one sleep or wake of a node, from the readings of its own agent and of its driver.
// Use      look() or add() at any time; sleeps() and wakes() at the order; end() once the node is off, or ready
// Unseen   the agent is silent from its goodbye until it runs again. That time counts with the mean power that a driver
//          observed meanwhile, or else with the mean power of the agent's readings in this transition
// Gap      the readings before a sleep do not count for the wake after it
// Units    J, W
// Errors   none: a transition without a reading has no value
// Threads  values; single owner
#pragma once

#include <optional>

#include "common/clock.hpp"

namespace wattle::placement::sleep {

struct PowerReading {
  MonoTime at{};        // end of its interval
  double energy_j = 0;  // since any fixed time
  double power_w = 0;   // over its interval
};

class TransitionMeter {
 public:
  // Ignores a reading that is not newer than the last one. An energy below the last one begins a new count.
  void add(const PowerReading& reading);
  // The agent has no reading of its power: the energy until the next one is unknown.
  void gap() { last_.reset(); }
  // Takes a reading, or notes that there is none.
  void look(const std::optional<PowerReading>& reading) {
    if (reading)
      add(*reading);
    else
      gap();
  }
  // Power of the running node, as a driver observed it.
  void observe(double power_w);

  void sleeps(MonoTime at);
  void wakes(MonoTime at);
  // Joules since the order; no value without an order or a reading. Ends the transition.
  std::optional<double> end(MonoTime at);

 private:
  std::optional<PowerReading> last_;
  std::optional<MonoTime> woken_;  // older readings are of the run before
  std::optional<double> power_w_;  // of the last reading of this run of the node
  std::optional<MonoTime> begun_;
  double seen_j_ = 0, seen_s_ = 0;
  double observed_w_ = 0, observations_ = 0;
};

}  // namespace wattle::placement::sleep
