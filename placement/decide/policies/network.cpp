#include "placement/decide/policies/network.hpp"

#include <algorithm>
#include <cmath>

#include "placement/decide/policies/makers.hpp"

namespace wattle::placement {

// Without a cluster model there is no plan.
std::optional<PlanView> NetworkPolicy::plan_view(PolicyContext& context) {
  if (!context.has_cluster_model()) return std::nullopt;
  return planner_.view(context.fleet(), context.ask(), context.row_nodes());
}

void NetworkPolicy::score(PolicyContext& context, std::span<double> values) {
  if (context.q.empty()) {
    if (const auto chosen = planner_.choose(context.fleet(), context.ask()))
      for (std::size_t row = 0; row < values.size(); ++row) values[row] = context.node(row) == *chosen ? 1 : 0;
    return;
  }
  std::copy(context.q.begin(), context.q.end(), values.begin());
  const double margin = context.silent ? std::max(options_.margin, kSilentMargin) : options_.margin;
  if (margin <= 0 || context.plan == nullptr || !context.plan->pick) return;
  double best = -INFINITY;
  std::optional<std::size_t> kept;
  for (const std::size_t row : context.feasible()) {
    best = std::max(best, values[row]);
    if (context.node(row) == *context.plan->pick) kept = row;
  }
  // Exceeds all others by more than a tie.
  if (kept && best <= values[*kept] + margin) values[*kept] = best + 1e-3;
}

MadePolicy make_network_policy(const PolicyInfo& info, const NetworkOptions& options) {
  return std::make_unique<NetworkPolicy>(info, options);
}

namespace {

class HighestQ final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    std::copy(context.q.begin(), context.q.end(), values.begin());
  }
};

}  // namespace

MadePolicy make_highest_q(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<HighestQ>(info); }

}  // namespace wattle::placement
