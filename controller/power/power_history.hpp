// power_history: the transitions of nodes that sleep, and the totals over all of them.
// Source   the steps of placement/sleep/power_machine
// Bounds   kMostTransitions transitions, the oldest are dropped; causes of failures are those of failure_of()
// Units    J, s; wall time, because both outlive the program
// Errors   unpack: the reader's
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

inline constexpr std::size_t kMostTransitions = 4000;
inline constexpr std::string_view kEndOfTest = "the end of its test";  // reason of the wake

struct SleepTransition {
  WallTime at{};
  std::string node;
  placement::sleep::PowerState from{}, to{};
  std::string reason;
  std::uint64_t operation = 0;
  bool operator==(const SleepTransition&) const = default;
};

// Length of each sleep that ended, without tests.
std::vector<double> times_asleep_s(const std::deque<SleepTransition>& history);

// Totals since the store was created.
struct SleepTotals {
  double saved_j = 0;                             // by sleeps that ended, net of their transitions
  double transitions_j = 0, asleep_j = 0;         // used by them, in the transitions and asleep
  std::uint64_t cycles = 0;                       // round trips: asleep, woken, and ready again
  std::map<std::string, std::uint64_t> failures;  // by cause
  std::uint64_t tests = 0;                        // of the round trips, those that only proved that a node wakes
  double tests_j = 0;                             // cost of tests; part of saved_j, with the opposite sign
  std::uint64_t waited_pods = 0;                  // pods for which a node was woken and that then got a node
  double waited_s = 0;                            // sum of their waits, from the wake to the node
  bool operator==(const SleepTotals&) const = default;

  void pack(placement::PackWriter& out) const;
  void unpack(placement::PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
};

// Returns the cause if the step from `before` to `after` is a failure; otherwise empty.
std::string_view failure_of(const placement::sleep::NodePowerRecord& before,
                            const placement::sleep::NodePowerRecord& after);

}  // namespace wattle::controller::power
