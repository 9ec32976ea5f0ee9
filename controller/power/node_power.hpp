// node_power: the interface to the drivers that put a node to sleep, wake it, and observe whether it runs.
// Calls    block until the driver has its answer or the limit has passed; the controller makes them on a separate task
//          thread, never on the loop. sleep() and wake() return once the node's driver has accepted the order, before
//          the node is asleep or awake: the caller observes it.
// Repeats  every call is idempotent: a node that is off sleeps already, a node that is on is awake already, and the
//          same operation may be ordered again after a crash
// Errors   not_found (no driver for this node, or no such machine or program), denied (credentials, permission),
//          timeout (the limit has passed), unavailable (no answer), unsupported (a depth that the driver lacks),
//          conflict (refused for now), malformed (an invalid answer), io (the driver failed). The error keeps the
//          driver's output, shortened to kMostOutputBytes, and never a secret.
// Units    W, s, ms
// Threads  any; calls for different nodes may run at once. Two calls for one node may run at once too, but the driver
//          does not order them: the caller does.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

// Output of a driver that an error keeps: the last bytes of what it printed or answered.
inline constexpr std::size_t kMostOutputBytes = 2048;

// Depths are ordered from light to deep.
using placement::sleep::Depth;
inline constexpr std::array<std::string_view, 2> kDepthNames{"suspend", "off"};

enum class PowerState : std::uint8_t { unknown, on, off };
inline constexpr std::array<std::string_view, 3> kPowerStateNames{"unknown", "on", "off"};

// The node that a call is about. The labels choose its drivers.
struct Node {
  std::string name;
  std::map<std::string, std::string> labels = {};
};

// Number and time limit of an order to sleep or wake. The caller chooses the number; a driver passes it on if it can.
struct Operation {
  std::uint64_t number = 0;
  std::chrono::milliseconds limit{30'000};
  std::uint32_t attempt = 1;  // above 1: the node did not reach the state that an earlier order was for
};

struct Capabilities {
  std::vector<Depth> depths;            // that sleep() accepts, from light to deep; empty: it cannot sleep
  bool can_wake = false;                // a node without it must never be put to sleep
  bool can_observe = false;             // without it the caller can only presume the state
  std::optional<double> wake_s = {};    // from the order to a running node; unset: unknown until measured
  std::optional<double> asleep_w = {};  // drawn while asleep; unset: unknown until measured
};

struct Observation {
  PowerState state = PowerState::unknown;
  std::optional<double> power_w = {};  // the whole machine, as the driver's meter shows it now; unset: no meter
};

class NodePower {
 public:
  virtual ~NodePower() = default;
  // Asks the node's drivers what they can do. Changes nothing.
  virtual Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) = 0;
  virtual Status sleep(const Node& node, Depth depth, const Operation& operation) = 0;
  virtual Status wake(const Node& node, const Operation& operation) = 0;
  // PowerState::unknown is a result, for a driver that answers but cannot say; no answer is an error.
  virtual Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) = 0;
};

}  // namespace wattle::controller::power
