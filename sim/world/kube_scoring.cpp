#include "sim/world/kube_scoring.hpp"

#include <cassert>

#include "sim/world/random.hpp"

namespace wattle::sim {

std::optional<std::size_t> select_node(std::span<const KubeNode> nodes, const KubePod& pod,
                                       std::span<const std::int64_t> extender_scores, std::int64_t extender_weight,
                                       std::mt19937_64& random) {
  assert(extender_scores.empty() || extender_scores.size() == nodes.size());
  std::optional<std::size_t> best;
  std::int64_t best_score = 0;
  std::size_t ties = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[i], pod)) continue;
    std::int64_t score = default_score(nodes[i], pod);
    if (!extender_scores.empty())
      score += extender_scores[i] * extender_weight * (kMaxNodeScore / kMaxExtenderPriority);
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
