// sleep_control: plans which nodes sleep and wake, with the plan and the rules of placement/sleep, keeps the nodes that
// operators exclude, and in mode auto has power_cycles carry the plan out.
// Opt-in   the label wattle.dev/sleep=recommend or auto of the node, at the API server or in its agent's configuration,
//          and sleep.mode. A node with auto sleeps by itself once `sleep-now` has proven its round trips
// Drivers  with sleep.drivers, the plan uses the answers of each node's power drivers, and a node without one stays
//          awake. Otherwise it assumes that every node with the label can suspend to memory and wake. Costs of a
//          transition are measured, or else stated by a driver, or else published values
// Plan     every kPlanEvery, and every kPlanSoon for the first plans, while agents connect. While nodes sleep every
//          kPlanAsleep, and within kPlanPending of a new pod that waits. At once when an exclusion ends. On its own
//          thread, from a copy of what it needs, with the last answers of drivers and API server (sleep_asker.hpp)
// Shallow  idle nodes that the plan keeps awake (shallow_orders.hpp)
// Back     after a restart in another mode no node is put to sleep. In mode recommend sleepers still wake when they are
//          needed, and in mode off they all wake at once
// Keeps    the members of sleep_memory.hpp in the store; power_cycles keeps the records
// Begin    no node goes to sleep before the pods of the API server are known
// Errors   none are fatal: what cannot be read or asked is logged
// Threads  the loop's
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "common/kube/pod.hpp"
#include "common/log.hpp"
#include "controller/power/empty_orders.hpp"
#include "controller/power/node_marks.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_cycles.hpp"
#include "controller/power/power_history.hpp"
#include "controller/power/shallow_orders.hpp"
#include "controller/power/sleep_asker.hpp"
#include "controller/power/sleep_config.hpp"
#include "controller/power/sleep_memory.hpp"
#include "controller/power/sleep_pods.hpp"
#include "controller/power/sleep_snapshot.hpp"
#include "controller/power/task_thread.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {
class ClockOffsets;
class ClusterState;
class RolloutManager;
class Store;
}  // namespace wattle::controller

namespace wattle::controller::power {

inline constexpr Duration kPlanEvery = std::chrono::minutes(1), kPlanSoon = std::chrono::seconds(2),
                          kPlanAsleep = std::chrono::seconds(5), kPlanPending = std::chrono::seconds(1),
                          kLookEvery = std::chrono::seconds(1);
inline constexpr std::size_t kFirstPlans = 10;

// The last plan, the answers of the drivers that it used, and when it was made.
struct MadePlan {
  placement::sleep::SleepPlan plan;
  std::map<std::string, ProbedNode> probed;  // by node
  std::set<std::string> shallow;             // names of the nodes that should be shallow
  MonoTime at{};
};

class SleepControl {
 public:
  struct Around {
    const SleepSettings& settings;
    Store& store;
    RolloutManager& audit;
    const Clock& clock;
    const Log& log;
    std::string own_host;                  // of this process
    std::optional<kube::ApiServer> api{};  // whose nodes and pods are watched; unset: none
    double stale_after_s = 5;              // decide.stale_after
    std::shared_ptr<NodePower> power{};    // unset: the drivers of the settings
    std::shared_ptr<NodeMarks> marks{};    // with an API server, no node sleeps without it
    // Returns whether the pods of the API server are known; unset: always.
    std::function<bool()> pods_read{};
  };
  explicit SleepControl(Around around);
  bool on() const { return around_.settings.on(); }
  // Pods of the API server, as PodReconciler reports them.
  void described(const kube::Pod& pod);
  void gone(const std::string& uid);
  // `state` must be the same at each call. Without `clocks` every clock counts as in sync.
  Steps tick(ClusterState& state, const ClockOffsets* clocks = nullptr);
  // Returns whether a later tick will receive the result of a plan, a call or a write that has begun.
  bool busy() const { return planning_ || (asker_ && asker_->busy()) || (cycles_ && cycles_->busy()); }
  // Last Hellos of nodes that do not run. A controller applies them at its start, because a sleeping node sends none.
  std::vector<wire::Hello> remembered() const;
  void greeted(const wire::Hello& hello);
  void goodbye(const std::string& node, const wire::Goodbye& message);
  void on_send(PowerActions::Send send);

  // Handles an order about sleep (sleep_orders.hpp); returns a JSON object.
  Result<std::string> order(const std::string& what, const std::map<std::string, std::string>& arguments,
                            const std::string& who);
  // An empty `why` ends the exclusion of the node.
  void exclude(const std::string& node, const std::string& why, const std::string& who);
  // Begins one round trip of an empty node: it sleeps, wakes and is ready.
  Status test(const std::string& node, const std::string& who);
  // Puts an empty node to sleep if the next plan chooses it. Call again while it is unavailable (empty_orders.hpp).
  Result<placement::sleep::PowerState> sleep_empty(const std::string& node, const std::string& who);
  // Wakes the node, or all if it is empty; returns those that do not run.
  std::vector<std::string> wake(const std::string& node, const std::string& who);

  // Returns whether the moves of the plan are made, by evictions; without an API server they are only reported.
  bool moves_pods() const { return acts() && around_.api.has_value(); }
  const SleepSettings& settings() const { return around_.settings; }
  const std::optional<MadePlan>& plan() const { return plan_; }
  std::size_t plans() const { return plans_; }
  // The reasons by node.
  const std::map<std::string, std::string>& exclusions() const { return memory_.exclusions; }
  // The records of nodes that may sleep by themselves; empty in mode recommend, unless a node does not run.
  const std::map<std::string, placement::sleep::NodePowerRecord>& records() const;
  // Oldest first.
  const std::deque<SleepTransition>& history() const { return cycles_ ? cycles_->records().history() : no_history_; }
  SleepTotals totals() const { return cycles_ ? cycles_->records().totals() : SleepTotals(); }
  // Why budgets are unknown; empty: they are known.
  std::string problem() const { return asker_ ? asker_->problem() : std::string(); }

 private:
  void begin_cycles(std::shared_ptr<NodePower> power);
  bool acts() const;
  bool pods_read() const { return !around_.pods_read || around_.pods_read(); }
  // Decided by mode, exclusions and proven round trips; the plan's other reasons change with the pods.
  bool may_sleep(const placement::sleep::NodePowerRecord& record) const {
    return acts() && !memory_.exclusions.contains(record.node) &&
           record.round_trips >= around_.settings.plan.rules.proven_round_trips;
  }
  const placement::sleep::NodePowerRecord* record_of(const std::string& node) const;
  placement::sleep::SleepFacts facts_of(const std::string& name, const controller::Node& node) const;
  void look(ClusterState& state, const ClockOffsets* clocks, const std::string& name, const controller::Node* node);
  Steps look_at_all(ClusterState& state, const ClockOffsets* clocks);
  bool plan_due(const ClusterState& state);
  Steps ask(const ClusterState& state);
  Steps make(ClusterState& state);
  void plan(const std::shared_ptr<SleepSnapshot>& snapshot);
  void act();
  bool observable(const std::string& node) const;
  // The first depth that the power driver of the node offers; an error while it has not answered.
  Result<placement::sleep::Depth> probed_depth(const std::string& node) const;

  const Around around_;
  const std::map<std::string, placement::sleep::NodePowerRecord> no_records_;
  const std::deque<SleepTransition> no_history_;
  const std::vector<DisruptionBudget> no_budgets_;
  SleepPods pods_;
  SleepMemory memory_;
  ExclusionWriter exclusion_writer_;
  WallSteps steps_;
  ShallowOrders shallow_;
  EmptyOrders empty_orders_;
  std::optional<MadePlan> plan_;
  std::size_t plans_ = 0, planned_pending_ = 0;
  bool planning_ = false, answered_ = false;
  std::optional<MonoTime> planned_, asked_, looked_;
  std::function<void(const std::string&)> look_now_;  // at one node; set by tick()
  std::unique_ptr<PowerCycles> cycles_;               // null: no node sleeps or may sleep by itself
  std::unique_ptr<SleepAsker> asker_;                 // null: neither an API server nor a driver
  std::unique_ptr<TaskThread> planner_;               // null: off
};

}  // namespace wattle::controller::power
