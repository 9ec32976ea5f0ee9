// policy: what ranks the feasible nodes of one decision, by one interface: the network, the planner, every heuristic and other people's
// schedulers, live and in the simulator.
// Masks    are not its business: it is given the rows that may be chosen, and what it says of others is not read. So no
//          policy can violate a hard constraint while a node satisfies it
// Values   one per row, higher is better; rewards for those that `explore` (a margin means something then), else anything
// Truth    none is reachable from here: a policy that needs it lives in sim/policies
// Errors   none
// Threads  a policy has a single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "placement/cluster_model.hpp"
#include "placement/cluster_view.hpp"
#include "placement/plan_view.hpp"
#include "placement/policies/kube_scoring.hpp"
#include "placement/sequential_test.hpp"

namespace wattle::placement {

class Policy;
class PlanMaker;  // placement/plan.hpp

// Of the policy `dqn`; the others have none.
struct NetworkOptions {
  // Q by which another node must beat the plan's; 0: any. Of many nodes that are nearly equal the best is often one that only looks so.
  double margin = 0.1;
  std::size_t shortlist = 10;  // nodes that the network ranks where there is a plan (placement/shortlist); 0: all
  bool plan = true;            // false: features and prior without the planner, and nothing to fall back to
  // The plan's choices serve while the network is behind them; needs a plan. A controller's gate is its decision engine's.
  std::optional<SequentialTestOptions> gate;
  bool lives_known = false;  // an Ask's life is when it will end
};

struct PolicyInfo {
  std::string_view name;    // in configuration, API and records; never changes
  std::string_view reason;  // why its node, for people
  std::unique_ptr<Policy> (*make)(const PolicyInfo&, const NetworkOptions&) = nullptr;
  bool learns = false;     // the network's residual counts
  bool explores = false;   // its values are rewards
  bool draws = false;      // chance is what it decides by: nodes of equal value are no reason to be neutral
  bool telemetry = false;  // it reads what nodes told: there is nothing for it to go by where there is a fleet alone
};

// One decision, as a policy sees it: on a view, as telemetry told it, or on a fleet alone, each of whose nodes is a row then.
class PolicyContext {
 public:
  PolicyContext(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> node,
                std::span<const std::size_t> feasible, ClusterModel* knowledge, std::uint64_t decisions_before)
      : turn(decisions_before), view_(&view), pod_(&pod), node_(node), feasible_(feasible), knowledge_(knowledge) {}
  PolicyContext(const Fleet& fleet, const PodEstimate& ask, std::uint64_t pod_key, std::uint64_t decisions_before)
      : turn(decisions_before), key(pod_key), fleet_(&fleet), ask_(ask) {}
  PolicyContext(const PolicyContext&) = delete;
  PolicyContext& operator=(const PolicyContext&) = delete;

  // Null: a fleet alone.
  const ClusterView* view() const { return view_; }
  // Of a row of a view.
  const NodeView& node_view(std::size_t row) const { return view_->nodes[node_[row]]; }
  std::size_t rows() const { return view_ != nullptr ? node_.size() : fleet_->nodes.size(); }
  // Of a row: index into the nodes of view and fleet.
  std::size_t node(std::size_t row) const { return view_ != nullptr ? node_[row] : row; }
  // Those of the rows of a view.
  std::span<const std::size_t> row_nodes() const { return node_; }
  bool has_knowledge() const { return knowledge_ != nullptr; }
  // Rows.
  std::span<const std::size_t> feasible();
  // What is known of the nodes, no other than the feasible ones open.
  const Fleet& fleet();
  // What is expected of the pod.
  const PodEstimate& ask();
  const Resources& request() const { return view_ != nullptr ? pod_->request : ask_->request; }
  // The row as kube-scheduler's cache has it, and the pod; sane whatever a view says.
  KubeNode kube_node(std::size_t row) const;
  KubePod kube_pod() const;

  const std::uint64_t turn;     // decisions before this one
  const std::uint64_t key = 0;  // of the pod, by which its end is told
  // Of each row: predicted reward, and the residual for one that learns. Empty: nobody has reckoned them.
  std::span<const double> q;
  const PlanView* plan = nullptr;       // what plan_view() said of this decision
  std::mt19937_64* random = nullptr;    // draws among ties; null: the first of them
  std::span<const KubeNode> scheduler;  // its cache, by node; empty: what view or fleet say
  Fleet* copy = nullptr;                // of the view's nodes, in place of what the knowledge says of them
  bool minds_pairs = false;  // a network is heard: what its policy knows of who slows whom counts (placement/pair_cost)

 private:
  std::vector<std::size_t> feasible_nodes() const;

  const ClusterView* view_ = nullptr;
  const PodSpec* pod_ = nullptr;
  std::span<const std::size_t> node_;
  std::optional<std::span<const std::size_t>> feasible_;
  ClusterModel* knowledge_ = nullptr;
  const Fleet* fleet_ = nullptr;
  std::optional<PodEstimate> ask_;
  std::vector<std::size_t> own_feasible_;
  std::optional<Fleet> own_fleet_;
};

// A pod that began to run, or that ended.
struct PodEvent {
  std::uint64_t key = 0;
  const PodEstimate& ask;
  std::optional<std::size_t> node;  // index into the nodes of view and fleet; absent: unknown
  std::string_view name;            // the node's; empty where nodes have none
  double now_s = 0;                 // on the clock of view and fleet
};

class Policy {
 public:
  explicit Policy(const PolicyInfo& info) : info_(info) {}
  virtual ~Policy() = default;
  const PolicyInfo& info() const { return info_; }
  std::string_view name() const { return info_.name; }
  // Work that is better done before somebody asks; about once a second.
  virtual void prepare(const Fleet&) {}
  // Who makes its plans, if it has any; null: whoever asks waits for them.
  virtual void plan_with(PlanMaker*) {}
  // What it would have features and prior know of a plan; asked before score(), when q is not there yet.
  virtual std::optional<PlanView> plan_view(PolicyContext&) { return std::nullopt; }
  // `values` has one place per row and comes as zeros.
  virtual void score(PolicyContext& context, std::span<double> values) = 0;
  // The node, as an index, where it alone decides; by default one of highest score. Absent: none is feasible.
  virtual std::optional<std::size_t> choose(PolicyContext& context);
  // A pod was bound, whoever decided; and it ended.
  virtual void placed(const PodEvent&) {}
  virtual void ended(const PodEvent&) {}

 protected:
  Policy(const Policy&) = default;
  Policy& operator=(const Policy&) = default;

 private:
  PolicyInfo info_;
};

// On a fleet alone.
std::optional<std::size_t> choose(Policy& policy, const Fleet& fleet, const PodEstimate& ask);

}  // namespace wattle::placement
