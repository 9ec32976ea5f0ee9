// choice: the options of one service for its next minute, as input of a network. The teacher, which knows how requests
// waited, and the student, which knows only what its node knows, have the same actions and the same network.
// Actions  nine: {replicas, CPU, memory} x {down, keep, up}; action = 3 x lever + direction. Keeping one resource keeps
//          all, so only the CPU's of the three keep actions is valid. CPU is the margin of the node's fast loop
//          (provision/student), memory is the grant over the working set; both move in rungs of a constant factor. "CPU
//          up" moves as far as the integral rule would, if that is more than a rung
// Prior    -(cost of the next minute as the integral rule predicts it): the grant, plus, below the rule's margin, one
//          and a half times the saving. The best action's value is subtracted, so that only the network determines the
//          part that all actions have in common. An untrained network follows the rule, in rungs
// Inputs   without units. An unknown input is 0, and another input marks it as unknown
// Shapes   an Observation of kActions nodes
// Errors   none; inputs that are not finite count as 0
// Threads  pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "models/frozen/q_network.hpp"

namespace wattle::models::provision {

enum class Lever : std::size_t { replicas, cpu, memory };
inline constexpr std::size_t kDirections = 3, kActions = 9, kKeep = 4;
constexpr std::size_t action_of(Lever lever, int direction) {
  return static_cast<std::size_t>(lever) * kDirections + static_cast<std::size_t>(direction + 1);
}

// Name of the actions and inputs in network files; changes whenever observe() changes.
inline constexpr std::string_view kLayout = "minute-1";

inline constexpr std::size_t kMoreReplicas = 2;                  // above the wanted number, at most
inline constexpr double kMarginStep = 1.04, kMemoryStep = 1.05;  // factors between rungs, of 1 + ratio
inline constexpr double kRuleMemory = 0.15;                      // memory's rule: over the largest working set of ten
                                                                 // minutes

struct Setting {
  double margin_ratio = 0;
  double memory_ratio = kRuleMemory;
  std::size_t replicas = 1;
};

struct Bounds {
  double least_margin = -0.3, most_margin = 4;
  double least_memory = 0, most_memory = 0.6;         // never below the working set
  std::size_t least_replicas = 1, most_replicas = 1;  // equal if something else sets the number
  bool memory = true;                                 // false: memory is not managed
};
// Bounds in operation and in simulation. `memory`: memory is managed. `wanted_replicas`: their number by the owner or
// by the replica rule; no value: something else sets the number, so it stays.
Bounds bounds_of(bool memory, std::size_t replicas, std::optional<std::size_t> wanted_replicas);

// Costs of a minute, relative to the power of the cores that the service used recently.
struct Price {
  double core_w = 4;  // a node's marginal power of a packed core
  double memory_w_per_gib = 0.3;
  double over = 60;  // per share of requests over target, linear above the share that a 99th percentile allows
};

struct Latency {
  double over_ratio = 0, p99_over_target = 0;
  double over_lately_ratio = 0;  // exponential mean
};
struct Rate {
  double over_last = 1, expected_over_last = 1;  // last minute over the one before; next minute over the last
  double range_ratio = 0;                        // half the likely range of the forecast, over the forecast
};

// Figures of one minute of a service.
struct ServiceMinute {
  double throttled_ratio = 0;                        // share of its periods
  double used_over_granted = 0, used_over_node = 0;  // cores
  double deviation_ratio = 0, peak_ratio = 0;        // one-second usage over its mean: deviation, maximum
  double used_over_last = 1;                         // over the minute before
  double missed_ratio = 0, working_over_peak = 1;    // memory: share missing; working set over the largest of ten
                                                     // minutes
  double memory_share = 0;                           // memory's part of the cost, at the current grant
  double day_ratio = 0;                              // time of day
  std::optional<Latency> latency;                    // only known to the controller
  std::optional<Rate> rate;                          // only known to the controller
  Setting now;
  double rule_margin_ratio = 0;  // next margin by the integral rule
};

bool valid(std::size_t action, const Setting& now, const Bounds& bounds);
// Limits a margin chosen elsewhere to one action from `now`: a rung down; up a rung, or to the rule's.
double within_a_rung(double chosen, double now, double rule_margin, const Bounds& bounds);
// Limits a memory margin in the same way: one rung in either direction.
double memory_within_a_rung(double chosen, double now, const Bounds& bounds);
Setting after(std::size_t action, const ServiceMinute& state, const Bounds& bounds);
// Cost of a minute in which this share of requests was over target.
double price_of_over(const Price& price, double over_ratio);
Observation observe(const ServiceMinute& state, const Bounds& bounds);

// Valid action with the highest Q; without a network, with the highest prior.
std::size_t best_action(const Observation& observation, const QNetwork* network);
// The best of the actions that a node can apply: CPU and memory.
std::size_t best_on_a_node(Observation observation, const QNetwork* network);

// State that a node sees without a controller: throttling drives the rule, and replicas are fixed. Leaves out the time
// of day, because training covers hours, not days.
struct LocalView {
  Observation observation;
  ServiceMinute state;
  Bounds bounds;
};
LocalView local_view(ServiceMinute state, double rule_margin_ratio, Bounds bounds);
// Setting that a student chooses there; no value if its output is not finite.
std::optional<Setting> choose_locally(const ServiceMinute& state, double rule_margin_ratio, const Bounds& bounds,
                                      const QNetwork* student);

}  // namespace wattle::models::provision
