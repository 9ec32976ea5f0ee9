// plan: an order in which nodes are filled with the expected pods, made once for one fleet and immutable.
// Method   servers are divided into blocks of pods that are worth filling at once (placement/plan/optimal_allocation).
//          A plan is an order of all blocks. Its cost is the sum over positions k of P(at least k pods come) x what the
//          k-th pod adds to the cost (placement/worth/objective), waking included. The search starts from the order of
//          slopes and from allotments for several counts of pods, cheapest block first, and improves the best of them
//          by moving blocks. If the count is certain, the plan is the allotment for that count; if it is open, the plan
//          is the amortised rank
// Cost     a hundredth of a second for 50 nodes, a tenth for 5,000: use a PlanMaker where decisions must not wait
// Former   where pods come and go the previous order stays until another is cheaper by keep_ratio. After a change of
//          order, running pods still occupy the old nodes while new pods start on others, so more servers are in use
//          for the length of their lifetimes
// Errors   none: no room gives an empty order
// Threads  any; immutable after construction. The same fleet and former plan give the same plan
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "placement/cluster/fleet.hpp"
#include "placement/plan/optimal_allocation.hpp"

namespace wattle::placement {

struct PlannerOptions {
  // A block is open if its probability is at least this share of the current one: the first value if the number of pods
  // is well known, the second if its range is as wide as its middle.
  double settled_ratio = 0.6, settled_ratio_open = 0.9;
  std::size_t matching_rounds = 3;      // iterations, because demand and counts of a server's pods depend on each other
  std::size_t forecasts = 5;            // counts of pods that get an allotment
  std::size_t allot_cells = 2'000'000;  // work limit of one allotment
  std::size_t moves = 60'000;           // attempts to improve the order, per plan
  double replan_ratio = 0.03;           // replans once this share of the expected pods has been placed
  double keep_ratio = 0.2;              // by which a new order must be cheaper than the current one
};

struct PlannedBlock {
  std::size_t node = 0, from = 0, to = 0;  // pods on the node, beyond those there at planning time
};

class Plan {
 public:
  static constexpr double kTail = 1e-3;  // probability that more pods come than any forecast expects, decreasing

  // `former`: the plan in use so far; null: none.
  Plan(const PlannerOptions& options, const Fleet& fleet, const Plan* former = nullptr);

  const std::vector<PlannedBlock>& order() const { return order_; }
  // A block of a node and the number of pods before it in the plan.
  struct Placed {
    PlannedBlock block;
    std::size_t position = 0;
    std::size_t end() const { return position + block.to - block.from; }
  };
  // Returns the node's blocks in the plan's order.
  std::span<const Placed> blocks_of(std::size_t node) const {
    return std::span(by_node_).subspan(first_of_[node], first_of_[node + 1] - first_of_[node]);
  }
  // Expected additional watts since planning, summed over the expected pods (weighted by the probability that they
  //          arrive).
  double cost() const { return expected_w_; }
  std::size_t nodes() const { return pods_then_.size(); }
  std::uint64_t revision() const { return revision_; }  // of the fleet
  bool pods_stay() const { return pods_stay_; }
  double unit_cores() const { return unit_cores_; }              // of the mean request
  double settled() const { return settled_; }                    // the ratio in use
  double slope(std::size_t node) const { return slope_[node]; }  // watts per core at the planned load of the node
  double pods_then(std::size_t node) const { return pods_then_[node]; }
  double total_then() const { return total_then_; }
  // P(that position is filled), given that the first one is.
  double survival(std::size_t position) const { return position < survival_.size() ? survival_[position] : 0.0; }
  // Pods on the node, in units of the mean request.
  double pods_there(const Fleet& fleet, std::size_t node) const;

 private:
  double block_cost(const PlannedBlock& block, std::size_t position) const;
  void expect(const Fleet& fleet);
  void tabulate(const Fleet& fleet);
  void match(const Fleet& fleet);
  void find_order(const PlannerOptions& options);
  void improve(std::size_t moves);
  void keep(const PlannerOptions& options, const Plan& former);
  bool follows(const Plan& former) const;
  std::vector<PlannedBlock> fitted(const std::vector<PlannedBlock>& order) const;
  double order_cost(const std::vector<PlannedBlock>& order) const;
  void index();
  std::vector<PlannedBlock> order_for(const std::vector<std::size_t>& counts) const;

  std::vector<PlannedBlock> order_;
  std::vector<Placed> by_node_;
  std::vector<std::size_t> first_of_;  // first index per node in by_node_, and the end
  CostTable cost_;                     // only during construction
  std::vector<double> survival_;
  std::vector<double> demand_;  // mean cores of the pods planned for each node
  std::vector<double> slope_;
  std::vector<double> pods_then_;  // on each node when planned, in units of the mean request
  double total_then_ = 0, expected_w_ = 0;
  double settled_ = 1;
  double settled_ratio_, settled_ratio_open_;
  double unit_cores_ = 1, unit_memory_ = 0;
  double price_w_ = 0;  // of waiting
  bool pods_stay_ = true;
  std::uint64_t revision_ = 0;
};

// Makes plans in the background; decisions use the newest plan.
class PlanMaker {
 public:
  virtual ~PlanMaker() = default;
  // Requests a plan for this fleet. Does nothing while a plan is in progress; call again later.
  virtual void want(const Fleet& fleet) = 0;
  // Returns the newest plan; null before the first.
  virtual std::shared_ptr<const Plan> newest() = 0;
};

}  // namespace wattle::placement
