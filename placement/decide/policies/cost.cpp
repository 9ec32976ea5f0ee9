#include "placement/decide/policies/cost.hpp"

#include <algorithm>
#include <cmath>

#include "placement/decide/policies/makers.hpp"
#include "placement/plan/pair_cost.hpp"

namespace wattle::placement {

void CostPolicy::score(PolicyContext& context, std::span<double> values) {
  costs_.resize(values.size());
  for (const std::size_t row : context.feasible()) costs_[row] = cost(context, row);
  const auto chosen = best(context);
  double most = -INFINITY, worst = INFINITY;
  for (const std::size_t row : context.feasible()) {
    const double here = known_cost(row);
    values[row] = std::isfinite(here) ? -here : -1e9;
    most = std::max(most, values[row]);
    worst = std::min(worst, values[row]);
  }
  constexpr double kSame = 1e-6;  // relative to the costs: rounding
  if (!plans() && most - worst <= kSame * std::max(1.0, std::abs(most))) return;
  // The chosen node wins by a margin above rounding. Without a choice (sizes outside the plan) the cost decides.
  for (const std::size_t row : context.feasible())
    if (chosen && context.node(row) == *chosen) values[row] = most + std::max(1e-3, 0.01 * (most - worst));
}

std::optional<std::size_t> CostPolicy::best(PolicyContext& context) {
  const Fleet& fleet = context.fleet();
  std::optional<std::size_t> best;
  double least_cost = 0;
  for (const std::size_t row : context.feasible()) {
    const std::size_t node = context.node(row);
    if (!fits(fleet.nodes[node], context.ask())) continue;
    const double here = known_cost(row);
    if (best && !(here < least_cost || (here == least_cost && node < *best))) continue;
    best = node;
    least_cost = here;
  }
  return best;
}

// The plan's preferences are in multiples of a pod's watts, as lateness is.
std::optional<std::size_t> PlannerPolicy::best(PolicyContext& context) {
  const Fleet& fleet = context.fleet();
  const auto rows = context.feasible();
  const double first = rows.empty() ? 0 : context.late(rows.front());
  const bool late_alike = std::ranges::all_of(rows, [&](std::size_t row) { return context.late(row) == first; });
  if (late_alike) return planner_.choose(fleet, context.ask());
  const PlanView view = planner_.view(fleet, context.ask(), context.row_nodes());
  if (view.nodes.empty()) return CostPolicy::best(context);
  std::optional<std::size_t> best;
  double most = 0;
  for (const std::size_t row : rows) {
    const std::size_t node = context.node(row);
    if (!fits(fleet.nodes[node], context.ask())) continue;
    const double here = view.nodes[row].preference - context.late(row);
    if (best && !(here > most || (here == most && node < *best))) continue;
    best = node;
    most = here;
  }
  return best;
}

namespace {

// Sorts the nodes by watts at half load per place, and chooses the first that fits. Ties go to the first name.
class NodeOrder : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;

 private:
  std::optional<std::size_t> best(PolicyContext& context) override {
    const Fleet& fleet = context.fleet();
    const auto& nodes = context.view().nodes;
    std::optional<std::size_t> best;
    double least_w = 0;
    for (const std::size_t row : context.feasible()) {
      const std::size_t node = context.node(row);
      if (!fits(fleet.nodes[node], context.ask())) continue;
      const double here_w = known_cost(row);
      if (best && (here_w > least_w || (here_w == least_w && nodes[*best].name <= nodes[node].name))) continue;
      best = node;
      least_w = here_w;
    }
    return best;
  }
  bool plans() const override { return true; }
  double cost(PolicyContext& context, std::size_t row) override {
    return packing_w(context.fleet().nodes[context.node(row)], context.fleet().usual_request);
  }
};

// The same with the costs that the pod has on the node: lateness, waiting, and pairs of applications that slow each
// other.
class NodeOrderWithCosts final : public NodeOrder {
 public:
  using NodeOrder::NodeOrder;

 private:
  double cost(PolicyContext& context, std::size_t row) override {
    const Fleet& fleet = context.fleet();
    const PodEstimate& ask = context.ask();
    const std::size_t node = context.node(row);
    const double pod_w =
        places_taken(ask.request, fleet.usual_request) * packing_w(fleet.nodes[node], fleet.usual_request);
    return pod_w * (1 + context.late(row)) + context.added_wait_w(row) + added_pair_w(fleet, node, ask);
  }
};

class Amortised final : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;
};

}  // namespace

MadePolicy make_planner_policy(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<PlannerPolicy>(info);
}
MadePolicy make_node_order(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<NodeOrder>(info); }
MadePolicy make_node_order_costs(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<NodeOrderWithCosts>(info);
}
MadePolicy make_amortised(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Amortised>(info); }

}  // namespace wattle::placement
