#include "placement/judge/paired_choices.hpp"

#include <algorithm>

#include "placement/worth/features.hpp"
#include "placement/worth/objective.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::placement {

PairedRule by_network(const PairedQuestion& question, Planner& planner, const RewardConfig& reward,
                      const models::QNetwork* network, double margin) {
  return [&question, &planner, &reward, network, margin](PairedCopy& copy) -> std::optional<std::size_t> {
    const PlanView plan = planner.view(copy.fleet, question.ask, question.rows);
    if (plan.nodes.empty() || !plan.pick) return std::nullopt;
    const ClusterView& view = copy.view();
    auto predictions = predict(reward, view, question.rows, question.pod, plan.demand_cores);
    price_waiting(reward, view, copy.fleet, question.rows, question.pod, question.ask, predictions);
    price_latency(copy.fleet.latency_price, predictions);
    const models::Observation seen =
        observe(view, question.rows, question.pod, copy.masked, predictions, reward, &plan);
    std::vector<float> residual(seen.nodes, 0.0F);
    if (network != nullptr) network->residual(seen, residual);
    const auto kept = std::find(question.rows.begin(), question.rows.end(), *plan.pick);
    const auto row = best_node(seen, residual, static_cast<std::size_t>(kept - question.rows.begin()), margin);
    return row ? std::optional(question.rows[*row]) : std::nullopt;
  };
}

}  // namespace wattle::placement
