// policy: the interface for ranking the feasible nodes of one decision. The network, the planner, every heuristic and
// other schedulers implement it, live and in the simulator.
// Masks    apply outside: a policy receives the rows that may be chosen, and its values for others are ignored. A
//          policy can therefore not violate a hard constraint while a node satisfies it
// Values   one per row, higher is better; rewards for policies that `explore` (so that a margin has a unit), otherwise
//          any scale
// Truth    never reachable from here: a policy that needs it lives in sim/policies
// Errors   none
// Threads  a policy has a single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/worth/plan_view.hpp"

namespace wattle::placement {

class ClusterModel;  // placement/cluster/cluster_model.hpp
class Policy;
class PlanMaker;  // placement/plan/plan.hpp

// Options of the policy `dqn` only.
struct NetworkOptions {
  // Minimum advantage in Q over the plan's node; 0: any. Among many nearly equal nodes the best is often best by error
  // only. Where the network's residual is flat, the margin is at least kSilentMargin.
  double margin = kSilentMargin;
  std::size_t shortlist = 10;  // nodes that the network ranks where there is a plan (placement/worth/shortlist); 0: all
};

struct PolicyInfo {
  std::string_view name;    // in configuration, API and records; never changes
  std::string_view reason;  // reason for its choice, for people
  std::unique_ptr<Policy> (*make)(const PolicyInfo&, const NetworkOptions&) = nullptr;
  bool learns = false;    // uses the network's residual
  bool explores = false;  // its values are rewards
};

// The input of a policy for one decision.
class PolicyContext {
 public:
  PolicyContext(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> node,
                std::span<const std::size_t> feasible, ClusterModel* cluster_model, std::uint64_t decisions_before)
      : turn(decisions_before),
        view_(view),
        pod_(pod),
        node_(node),
        feasible_(feasible),
        cluster_model_(cluster_model) {}
  PolicyContext(const PolicyContext&) = delete;
  PolicyContext& operator=(const PolicyContext&) = delete;

  const ClusterView& view() const { return view_; }
  const NodeView& node_view(std::size_t row) const { return view_.nodes[node_[row]]; }
  std::size_t rows() const { return node_.size(); }
  // Returns the row's index into the nodes of view and fleet.
  std::size_t node(std::size_t row) const { return node_[row]; }
  std::span<const std::size_t> row_nodes() const { return node_; }
  bool has_cluster_model() const { return cluster_model_ != nullptr; }
  // Returns feasible rows.
  std::span<const std::size_t> feasible() const { return feasible_; }
  // Returns the known state of the nodes, with only the feasible ones open.
  const Fleet& fleet();
  // Returns the estimate of the pod.
  const PodEstimate& ask();
  const Resources& request() const { return pod_.request; }
  // Returns how late the pod would be on the row's node (placement/worth/objective, late_cost).
  double late(std::size_t row);
  // Waiting that the pod adds on the row's node, at its price. Taken from the plan if there is one.
  double added_wait_w(std::size_t row);
  // The row as in kube-scheduler's cache, and the pod. Values of the view are checked for sanity.
  KubeNode kube_node(std::size_t row) const;
  KubePod kube_pod() const;

  const std::uint64_t turn;  // decisions before this one
  // Per row: predicted reward, plus the residual for a policy that learns. Empty if not computed.
  std::span<const double> q;
  bool silent = false;                  // no network is used, or it adds the same to all nodes: q is the prior
  const PlanView* plan = nullptr;       // result of plan_view() for this decision
  std::span<const KubeNode> scheduler;  // the scheduler's cache, by node; empty: use the view
  Fleet* copy = nullptr;                // the view's nodes, in place of the cluster model's

 private:
  std::vector<std::size_t> feasible_nodes() const;

  const ClusterView& view_;
  const PodSpec& pod_;
  std::span<const std::size_t> node_, feasible_;
  ClusterModel* cluster_model_;
  const Fleet* fleet_ = nullptr;
  std::optional<PodEstimate> ask_;
  std::optional<Fleet> own_fleet_;
};

// A pod that started or ended.
struct PodEvent {
  std::uint64_t key = 0;
  const PodEstimate& ask;
  std::optional<std::size_t> node;  // index into the nodes of view and fleet; unset if unknown
  std::string_view name;            // of the node; empty if nodes have no names
  double now_s = 0;                 // on the clock of view and fleet
};

class Policy {
 public:
  explicit Policy(const PolicyInfo& info) : info_(info) {}
  virtual ~Policy() = default;
  const PolicyInfo& info() const { return info_; }
  std::string_view name() const { return info_.name; }
  // Does work ahead of decisions; called about once a second.
  virtual void prepare(const Fleet&) {}
  // Sets the maker of its plans, if it uses plans; null: each decision waits for its plan.
  virtual void plan_with(PlanMaker*) {}
  // Returns the plan's input for features and prior, if the policy has one. Called before score(), without q.
  virtual std::optional<PlanView> plan_view(PolicyContext&) { return std::nullopt; }
  // `values` has one entry per row, initially zero.
  virtual void score(PolicyContext& context, std::span<double> values) = 0;
  // Reports that a pod was bound, by any scheduler, or that it ended.
  virtual void placed(const PodEvent&) {}
  virtual void ended(const PodEvent&) {}

 protected:
  Policy(const Policy&) = default;
  Policy& operator=(const Policy&) = default;

 private:
  PolicyInfo info_;
};

}  // namespace wattle::placement
