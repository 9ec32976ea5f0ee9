// explain: reads the advice back into words and numbers.
#include "placement/explain.hpp"

#include <algorithm>

namespace wattle::placement {
namespace {

template <class Specs>
NamedValues named(const Specs& specs, const float* values) {
  NamedValues result;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name != "reserved") result.emplace_back(std::string(specs[i].name), static_cast<double>(values[i]));
  }
  return result;
}

}  // namespace

Explanation explain(const Advice& advice, const ClusterView& view, const PodSpec& asked, const RewardConfig& reward) {
  std::vector<std::string> problems;  // told in the decision
  const PodSpec pod = with_sane_limits(asked, problems);
  Explanation explanation;
  explanation.reason = advice.record.reason;
  explanation.pod = named(kPodFeatureSpecs, advice.observation.pod.data());
  explanation.context = named(kContextFeatureSpecs, advice.observation.context.data());

  std::vector<std::size_t> node_of_row(advice.observation.nodes, view.nodes.size());
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    if (advice.row_of[i] >= node_of_row.size()) continue;
    const auto found = std::find_if(view.nodes.begin(), view.nodes.end(),
                                    [&](const NodeView& node) { return node.name == advice.candidates[i]; });
    node_of_row[advice.row_of[i]] = static_cast<std::size_t>(found - view.nodes.begin());
  }
  // A view that lost a node since then explains without predicted terms.
  const bool whole =
      std::all_of(node_of_row.begin(), node_of_row.end(), [&](std::size_t index) { return index < view.nodes.size(); });
  const std::vector<Prediction> predictions =
      whole ? predict(reward, view, node_of_row, pod, demand_cores(pod)) : std::vector<Prediction>{};

  const auto describe = [&](std::size_t candidate) {
    const wire::Candidate& entry = advice.record.candidates[candidate];
    const std::size_t row = advice.row_of[candidate];
    NodeExplanation node;
    node.node = entry.node;
    node.q = entry.q;
    if (whole) {
      node.terms = {{"energy", entry.prior - predictions[row].latency}, {"latency", predictions[row].latency}};
      node.marginal_w = predictions[row].marginal_w;
      node.marginal_with_wake_w = predictions[row].marginal_with_wake_w;
      node.amortised_w = predictions[row].amortised_w;
    } else {
      node.terms = {{"prior", entry.prior}};
      node.marginal_with_wake_w = entry.marginal_w;
    }
    node.terms.emplace_back("residual", entry.residual);
    node.features = named(kNodeFeatureSpecs, &advice.observation.node[row * models::kNodeFeatures]);
    return node;
  };

  if (!advice.top) return explanation;
  explanation.winner = describe(*advice.top);
  std::optional<std::size_t> second;
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    const wire::Candidate& entry = advice.record.candidates[i];
    if (advice.row_of[i] == advice.row_of[*advice.top] || !entry.masked.empty()) continue;
    if (!second || entry.q > advice.record.candidates[*second].q) second = i;
  }
  if (second) explanation.runner_up = describe(*second);
  return explanation;
}

}  // namespace wattle::placement
