#include "sim/world/kube_scoring.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/world/random.hpp"

namespace wattle::sim {

std::vector<std::int64_t> topology_spread(std::span<const KubeNode> nodes, const KubePod& pod,
                                          std::span<const std::size_t> pods_of_owner) {
  constexpr double kMaxSkew = 3;
  std::vector<std::int64_t> scores(nodes.size(), 0);
  std::vector<std::size_t> feasible;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (fits(nodes[i], pod)) feasible.push_back(i);
  if (feasible.empty()) return scores;
  const double weight = std::log(static_cast<double>(feasible.size()) + 2);
  for (const std::size_t i : feasible)
    scores[i] = std::llround(static_cast<double>(pods_of_owner[i]) * weight + (kMaxSkew - 1));
  const auto by_score = [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; };
  const auto [least, most] = std::minmax_element(feasible.begin(), feasible.end(), by_score);
  const std::int64_t low = scores[*least], high = scores[*most];
  for (const std::size_t i : feasible) scores[i] = kMaxNodeScore * (high + low - scores[i]) / high;
  return scores;
}

std::optional<std::size_t> select_node(std::span<const KubeNode> nodes, const KubePod& pod,
                                       std::span<const std::int64_t> extender_scores, std::int64_t extender_weight,
                                       std::mt19937_64& random, std::span<const std::int64_t> spread) {
  assert(spread.empty() || spread.size() == nodes.size());
  assert(extender_scores.empty() || extender_scores.size() == nodes.size());
  std::optional<std::size_t> best;
  std::int64_t best_score = 0;
  std::size_t ties = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[i], pod)) continue;
    std::int64_t score = default_score(nodes[i], pod);
    if (!extender_scores.empty())
      score += extender_scores[i] * extender_weight * (kMaxNodeScore / kMaxExtenderPriority);
    if (!spread.empty()) score += spread[i] * kSpreadWeight;
    if (!best || score > best_score) {
      best = i;
      best_score = score;
      ties = 1;
    } else if (score == best_score) {
      ++ties;
      if (pick(random, ties) == 0) best = i;  // reservoir: each tied node has the same chance
    }
  }
  return best;
}

}  // namespace wattle::sim
