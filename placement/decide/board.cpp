// board: calls decide() once per class, for a pod that represents it.
#include "placement/decide/board.hpp"

namespace wattle::placement {

wire::BoardClass board_class(std::size_t number, const ClusterView& view, const PolicyInputs& mind,
                             const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random) {
  constexpr double kBytesPerCore = 1024.0 * 1024 * 1024;
  DecideOptions standing = options;
  standing.epsilon = 0;
  std::vector<std::string> names;
  names.reserve(view.nodes.size());
  for (const NodeView& node : view.nodes) names.push_back(node.name);
  const double cores = kBoardClassCores[number];
  PodSpec pod;
  pod.request = {cores, cores * kBytesPerCore};
  const PlacementDecision advice = decide(view, pod, names, mind, standing, turn, random);
  wire::BoardClass scores;
  scores.cpu_request_cores = cores;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (advice.scores[i] > 0) scores.scores.emplace(names[i], advice.scores[i]);
  }
  return scores;
}

std::vector<wire::BoardClass> board_classes(const ClusterView& view, const PolicyInputs& mind,
                                            const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random) {
  std::vector<wire::BoardClass> classes;
  for (std::size_t number = 0; number < kBoardClassCores.size(); ++number)
    classes.push_back(board_class(number, view, mind, options, turn, random));
  return classes;
}

}  // namespace wattle::placement
