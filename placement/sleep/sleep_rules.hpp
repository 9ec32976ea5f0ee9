// sleep_rules: the rules that decide which nodes may sleep and how much capacity stays awake. They override every
// ranking, learned or not: a ranking only chooses among the nodes that these rules leave.
// Opt-in   per node: off, recommend (appears in plans, no action), automatic (acts; available after
//          `proven_round_trips`)
// Spare    capacity that stays free on awake nodes = max(`spare_nodes` mean nodes, `spare_ratio` of the awake cores,
//          the largest pending pod, the load of the awake node that has most). Sleeping nodes cover that load, too, if
//          they wake in time: a node that is ready before Kubernetes moves the pods of a lost node is woken when the
//          node is lost
// Slow     sleeps count the highest demand of the last `down_after`, wakes the mean demand of the last `up_after`:
//          nodes go down slowly and come up fast (after VMware DPM, 40 and 5 minutes)
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::placement::sleep {

enum class SleepMode : std::uint8_t { off, recommend, automatic };
std::string_view to_string(SleepMode mode);

struct SleepRules {
  std::size_t spare_nodes = 0;
  double spare_ratio = 0.05;
  bool survive_node_loss = true;                   // whether the load of the awake node that has most counts
  Duration moved_after = std::chrono::minutes(5);  // by Kubernetes, from a lost node (tolerationSeconds)
  Duration lost_after = std::chrono::seconds(60);  // until the loss is known
  Duration down_after = std::chrono::minutes(40);
  Duration up_after = std::chrono::minutes(5);
  Duration stay_awake = std::chrono::minutes(5);            // after a wake; not after a test, which no demand woke
  std::uint32_t cycles_per_day = 6;                         // of one node
  std::size_t sleeps_per_hour = 20, wakes_per_minute = 20;  // of the cluster; wakes for pending pods are not limited
  std::uint32_t proven_round_trips = 3;                     // until `automatic` acts
};

// Facts about one node that the view does not have. A name (of a pod, a budget) is empty if there is none.
struct SleepFacts {
  SleepMode mode = SleepMode::off;
  bool can_sleep = false, can_wake = false;  // by its power driver, at `depth`
  Depth depth = Depth::suspend;
  std::string driver_problem;  // why can_sleep is false; empty: the driver lacks the depth
  bool control_plane = false;
  bool runs_controller = false;  // or its database, or a shim that has no other replica
  bool runs_scheduler = false;   // the last one
  std::string local_volume_pod;
  std::string bare_pod;
  std::string undisruptable_pod;   // safe-to-evict: false, do-not-disrupt
  std::string constrained_pod;     // a hard constraint that the plan cannot check
  std::string unsatisfied_budget;  // PodDisruptionBudget that allows no eviction now
  std::string inhibitor;           // holder of a lock against sleep
  std::string excluded_by;         // the operator's words; empty: not excluded
  std::string held_by;             // another program or operator that keeps the node empty, in words; empty: none
  std::string emptied_by;          // another program that moves its pods away; it may sleep once it is empty
  std::string zone, device_class;  // empty: none
};

enum class ExcludedFor : std::uint8_t {
  none,
  mode_off,
  only_recommended,
  unproven,
  state,
  not_ready,
  no_driver,
  no_wake,
  operator_,
  control_plane,
  controller,
  scheduler,
  local_volume,
  bare_pod,
  undisruptable_pod,
  budget,
  inhibitor,
  woken_recently,
  cycles,
  has_pods,
  last_of_zone,
  last_of_class,
  spare,
  gap,
  saving,
  no_target,
  rate,
  moved_recently,
  one_drain,
  constrained_pod,
  other_drain
};
inline constexpr std::size_t kExclusions = static_cast<std::size_t>(ExcludedFor::other_drain) + 1;
// For metrics and JSON: "last_of_zone".
std::string_view to_string(ExcludedFor cause);

struct Exclusion {
  ExcludedFor cause = ExcludedFor::none;
  std::string reason;  // a sentence for people
  explicit operator bool() const { return cause != ExcludedFor::none; }
};

// Returns why the node may not sleep, judged only by this node. `recommending`: skip what only keeps `automatic` from
//          acting (the mode recommend,
// and missing round trips), because a recommendation does not act.
Exclusion excluded_alone(const SleepFacts& facts, const NodePowerRecord& record, WallTime now, const SleepRules& rules,
                         bool recommending);

// Awake nodes per zone and per device class, so that the last one stays awake.
class LastOfKind {
 public:
  void add(const SleepFacts& facts, int sign);
  Exclusion excluded(const SleepFacts& facts) const;

 private:
  struct Count {
    std::string kind;
    int awake = 0;
  };
  static int& count(std::vector<Count>& counts, const std::string& kind);
  static int awake(const std::vector<Count>& counts, const std::string& kind);
  std::vector<Count> zones_, classes_;
};

// Free resources that must remain on the awake nodes. `covering`: of sleepers that wake in time for a loss; unset: a
// loss does not count.
Resources spare_needed(const Fleet& fleet, std::span<const char> awake, const Resources& largest_pending,
                       const std::optional<Resources>& covering, const SleepRules& rules);

}  // namespace wattle::placement::sleep
