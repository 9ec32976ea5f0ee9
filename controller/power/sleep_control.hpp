// sleep_control: plans which nodes could sleep, by the plan and the rules of placement/sleep, and keeps the nodes that
// operators exclude. Recommends only: no node is put to sleep.
// Opt-in   the label wattle.dev/sleep=recommend of the node, at the API server or in its agent's configuration
// Drivers  with sleep.drivers, the plan uses the answers of each node's power drivers, and a node without one stays
//          awake. Otherwise it assumes that every node with the label can suspend to memory and wake. Costs of a
//          transition are published ones where no driver states them
// Plan     every kPlanEvery, and every kPlanSoon for the first plans, while agents connect; on a thread of its own,
//          from a copy of what it needs. That thread also asks the drivers (node_probes.hpp), and lists the
//          PodDisruptionBudgets, which the next plan obeys
// Keeps    exclusions and the outlook of demand, in the store
// Errors   none are fatal: budgets that cannot be listed are logged once in ten minutes and reported by problem(), and
//          the plan then has no budgets
// Threads  the loop's
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "common/kube/pod.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/power/disruption_budgets.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/node_probes.hpp"
#include "controller/power/power_history.hpp"
#include "controller/power/sleep_config.hpp"
#include "controller/power/sleep_pods.hpp"
#include "controller/power/sleep_snapshot.hpp"
#include "controller/power/task_thread.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {
class ClusterState;
class RolloutManager;
class Store;
}  // namespace wattle::controller

namespace wattle::controller::power {

inline constexpr Duration kPlanEvery = std::chrono::minutes(1), kPlanSoon = std::chrono::seconds(2);
inline constexpr std::size_t kFirstPlans = 10;

// Returns the host name of this machine or pod. Empty: unknown.
std::string host_name();

// The last plan, the answers of the drivers that it used, and when it was made.
struct MadePlan {
  placement::sleep::SleepPlan plan;
  std::map<std::string, ProbedNode> probed;  // by node
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
  };
  explicit SleepControl(Around around);
  bool on() const { return around_.settings.on(); }
  // Pods of the API server, as PodReconciler reports them.
  void described(const kube::Pod& pod);
  void gone(const std::string& uid);
  Steps tick(const ClusterState& state);

  // Handles "sleep-exclude" of `who`; returns a JSON object with the node.
  Result<std::string> order(const std::string& what, const std::map<std::string, std::string>& arguments,
                            const std::string& who);

  const SleepSettings& settings() const { return around_.settings; }
  const std::optional<MadePlan>& plan() const { return plan_; }
  std::size_t plans() const { return plans_; }
  // The reasons by node.
  const std::map<std::string, std::string>& exclusions() const { return exclusions_; }
  // Of the nodes that may sleep by themselves, by node; empty in mode recommend, unless a node slept before.
  const std::map<std::string, placement::sleep::NodePowerRecord>& records() const { return records_; }
  const std::deque<SleepTransition>& history() const { return history_; }  // oldest first
  SleepTotals totals() const { return totals_; }
  const std::string& problem() const { return problem_; }  // why budgets are unknown; empty: they are known

 private:
  void load();
  void make(const std::shared_ptr<SleepSnapshot>& snapshot);
  void take(Result<std::vector<DisruptionBudget>> listed);
  placement::sleep::SleepFacts facts_of(const std::string& name, const controller::Node& node) const;

  const Around around_;
  SleepPods pods_;
  std::map<std::string, std::string> exclusions_;
  placement::sleep::DemandOutlook outlook_;
  std::vector<DisruptionBudget> unsatisfied_;
  std::string problem_;
  std::map<std::string, placement::sleep::NodePowerRecord> records_;
  std::deque<SleepTransition> history_;
  SleepTotals totals_;
  LogThrottle problems_logged_{std::chrono::minutes(10)};
  std::optional<MadePlan> plan_;
  std::size_t plans_ = 0;
  bool planning_ = false;
  std::optional<MonoTime> planned_;
  std::unique_ptr<kube::HttpApi> api_;   // used by the thread
  std::unique_ptr<NodeProbes> probes_;   // used by the thread; null: every driver is assumed
  std::unique_ptr<TaskThread> planner_;  // null: off
};

}  // namespace wattle::controller::power
