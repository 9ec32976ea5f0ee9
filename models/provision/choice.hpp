// choice: what one service may get more or less of in the next minute, and that as a network sees it. The teacher, which knows what
// requests waited, and the student, which knows what its node knows, have the same actions and the same network.
// Actions  nine: {replicas, CPU, memory} x {down, keep, up}; action = 3 x lever + direction. To keep one thing is to keep all: of the
//          three only the CPU's is valid. CPU is the margin of the node's fast loop (actuator/student), memory what is granted over
//          what was worked on; both go by rungs of one factor each. CPU up goes as far as the integral rule would, if that is further
// Prior    -(cost of the next minute as the integral rule predicts it): what is granted, and below the rule's margin half as much more
//          than is saved. Less that of the best action, so that the network alone says what all actions have in common. Nothing
//          learned: the rule, on rungs
// Inputs   without units. What is not known here is 0, and another input says so
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

// Of actions and inputs, in the files of networks: another name whenever observe() says another thing.
inline constexpr std::string_view kLayout = "minute-1";

inline constexpr double kMarginStep = 1.04, kMemoryStep = 1.05;  // of 1 + ratio, from rung to rung
inline constexpr double kRuleMemory = 0.15;                      // memory's rule: over the most of ten minutes

struct Setting {
  double margin_ratio = 0;
  double memory_ratio = kRuleMemory;
  std::size_t replicas = 1;
};

struct Bounds {
  double least_margin = -0.3, most_margin = 4;
  double least_memory = -0.15, most_memory = 0.6;
  std::size_t least_replicas = 1, most_replicas = 1;  // the same where somebody else owns their number
  bool memory = true;                                 // false: memory is left alone
};
// Of a service on a node: replicas are left alone, and memory is never less than what was worked on.
Bounds bounds_on_a_node(bool memory);

// Costs of a minute, in what the work itself needs: the power of the cores that it used of late.
struct Price {
  double core_w = 4;  // a node's marginal power of a packed core
  double memory_w_per_gib = 0.3;
  double over = 60;  // of all requests over target, linear from the share that a 99th percentile leaves
};

struct Latency {
  double over_ratio = 0, p99_over_target = 0;
  double over_lately_ratio = 0;  // faded mean
};
struct Rate {
  double over_last = 1, expected_over_last = 1;  // of the last minute over the one before; of the next over the last
  double range_ratio = 0;                        // half of what the forecast calls likely, over the forecast
};

// One minute of one service.
struct ServiceMinute {
  double throttled_ratio = 0;                        // of its periods
  double used_over_granted = 0, used_over_node = 0;  // cores
  double deviation_ratio = 0, peak_ratio = 0;        // of one-second usages over their mean: deviation, most
  double used_over_last = 1;                         // of the minute before
  double missed_ratio = 0, working_over_peak = 1;    // memory: not there; worked on now over the most of ten minutes
  double memory_share = 0;                           // of memory in the cost, granted as now
  double day_ratio = 0;                              // time of day
  std::optional<Latency> latency;                    // the controller alone
  std::optional<Rate> rate;                          // likewise
  Setting now;
  double rule_margin_ratio = 0;  // where the integral rule would go
};

bool valid(std::size_t action, const Setting& now, const Bounds& bounds);
// A margin that somebody else chose, as far as one action goes from `now`: a rung down; up a rung, or to the rule's.
double within_a_rung(double chosen, double now, double rule_margin, const Bounds& bounds);
// The same of memory's: a rung either way.
double memory_within_a_rung(double chosen, double now, const Bounds& bounds);
Setting after(std::size_t action, const ServiceMinute& state, const Bounds& bounds);
// Of a minute in which this share of requests was over target.
double price_of_over(const Price& price, double over_ratio);
Observation observe(const ServiceMinute& state, const Bounds& bounds);

// The valid action of the highest Q; without a network that of the prior.
std::size_t best_action(const Observation& observation, const QNetwork* network);

// What a node sees without a controller, where the rule goes by throttling; replicas are left alone. Not the time of day: hours are
// taught on, not days.
struct LocalView {
  Observation observation;
  ServiceMinute state;
  Bounds bounds;
};
LocalView local_view(ServiceMinute state, double rule_margin_ratio, Bounds bounds);
// What a student does there. Absent: what it says is not finite.
std::optional<Setting> choose_locally(const ServiceMinute& state, double rule_margin_ratio, const Bounds& bounds,
                                      const QNetwork* student);

}  // namespace wattle::models::provision
