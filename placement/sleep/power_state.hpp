// power_state: the power of one node as Wattle knows it: a record that the controller writes to its store before each
// action, and that the state machine (placement/sleep/power_machine) changes.
// States   awake: takes pods; idle: empty and marked, about to sleep; draining: marked, its pods leave; suspending:
//          ordered to sleep; asleep; waking: ordered to wake; probation: runs, not yet ready; blocked: runs, not to be
//          put to sleep for a while; failed: lost without a goodbye, or does not wake; unknown: cannot be observed now
// Marks    cordon, taint and label that Wattle puts on a node (Kubernetes). `marked`: the node may carry them; written
//          before they are put there, cleared after they are removed
// Pack     an unreadable record is refused as a whole; the caller then starts from unknown, which observes the node
// Units    wall time, because records outlive the program; seconds, joules, watts
// Errors   unpack: the reader's
// Threads  values
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement::sleep {

enum class PowerState : std::uint8_t {
  awake,
  idle,
  draining,
  suspending,
  asleep,
  waking,
  probation,
  blocked,
  failed,
  unknown
};
inline constexpr std::array kPowerStates{
    PowerState::awake,  PowerState::idle,      PowerState::draining, PowerState::suspending, PowerState::asleep,
    PowerState::waking, PowerState::probation, PowerState::blocked,  PowerState::failed,     PowerState::unknown};
std::string_view to_string(PowerState state);

// suspend: to memory (S3); off: powered off (S5).
enum class Depth : std::uint8_t { suspend, off };
inline constexpr std::array kDepths{Depth::suspend, Depth::off};
std::string_view to_string(Depth depth);

// The answer of a power driver.
enum class Observed : std::uint8_t { unknown, on, off };
inline constexpr std::array kObservations{Observed::unknown, Observed::on, Observed::off};
std::string_view to_string(Observed observed);

// Measured on this node: means of the recent operations, unset before the first one. Joules are unset until
//          MeteredTransitions::kTrusted operations were metered.
struct Transitions {
  std::optional<double> sleep_s, sleep_j;  // from the order until the node is off
  std::optional<double> wake_s, wake_j;    // from the order until the node is ready
  std::optional<double> asleep_w;
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
  bool operator==(const Transitions&) const = default;
};

// Joules of one kind of transition, as metered on this node.
struct MeteredTransitions {
  static constexpr std::uint32_t kTrusted = 3;  // transitions until their mean is used
  std::optional<double> mean_j;
  std::uint32_t count = 0;

  void add(double joules);
  std::optional<double> trusted_j() const { return count >= kTrusted ? mean_j : std::nullopt; }
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
  bool operator==(const MeteredTransitions&) const = default;
};

// Measured values of one depth.
struct DepthMeans {
  Transitions measured;
  MeteredTransitions sleeps, wakes;
  bool operator==(const DepthMeans&) const = default;
};

struct NodePowerRecord {
  std::string node;
  PowerState state = PowerState::unknown;
  WallTime since{};             // start of the state, or of its last attempt
  std::uint64_t operation = 0;  // number of the last transaction or order; 0: none so far
  Depth depth = Depth::suspend;
  std::string reason;               // for people: the cause of the state
  bool marked = false;              // may carry Wattle's marks
  bool ours = false;                // Wattle ordered it to sleep and has not seen it ready since
  bool goodbye = false;             // its agent said goodbye with the number of the current sleep
  bool slept = false;               // was asleep since it was last ready
  bool observable = true;           // a driver can say whether it is on; the caller sets it
  bool presumed = false;            // asleep only by its goodbye
  bool wake_pending = false;        // wakes as soon as the current sleep has ended
  bool test = false;                // the last trip is an ordered test: the caller wakes the node once it is asleep
  std::uint32_t attempts = 0;       // of the current wake
  std::uint32_t failures = 0;       // round trips that failed since the last one that succeeded
  std::uint32_t round_trips = 0;    // ordered to sleep, was asleep, woke and was ready
  std::uint32_t cycles_today = 0;   // sleeps begun on `day`
  std::int64_t day = 0;             // days since the epoch, UTC
  std::optional<WallTime> ordered;  // first attempt of the current order
  std::optional<WallTime> last_slept, last_woken;
  Transitions measured;  // the machine fills the times, the caller joules and watts
  MeteredTransitions sleeps, wakes;
  DepthMeans other;  // of the depth that is not in use

  // Changes the depth and keeps the measurements of both depths.
  void use_depth(Depth to);
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
  bool operator==(const NodePowerRecord&) const = default;
};

// Days since the epoch, UTC.
std::int64_t day_of(WallTime when);
// Sleeps begun on the day of `now`.
std::uint32_t cycles_on_day(const NodePowerRecord& record, WallTime now);

// Runs and may take pods now.
inline bool takes_pods(const NodePowerRecord& record) {
  return !record.marked && (record.state == PowerState::awake || record.state == PowerState::blocked);
}

// Follows the recent values: the first one, then a mean in which each new value counts a quarter. Ignores a value that
// is not finite or below 0.
void follow(std::optional<double>& mean, double value);

}  // namespace wattle::placement::sleep
