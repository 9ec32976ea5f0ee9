// board: calls decide() once per class, for a pod that represents it.
#include "placement/decide/board.hpp"

#include <utility>

namespace wattle::placement {

wire::BoardClass board_class(std::size_t number, const ClusterView& view, const PolicyInputs& inputs,
                             const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random) {
  constexpr double kBytesPerCore = 1024.0 * 1024 * 1024;
  DecideOptions standing = options;
  standing.epsilon = 0;
  std::vector<std::string> names;
  // A look-up would cost as much as the masks, and the index would lose the order of the last request.
  std::vector<std::size_t> rows;
  names.reserve(view.nodes.size());
  rows.reserve(view.nodes.size());
  for (std::size_t row = 0; row < view.nodes.size(); ++row) {
    if (view.nodes[row].name.empty()) continue;  // the row of a removed node
    names.push_back(view.nodes[row].name);
    rows.push_back(row);
  }
  PolicyInputs own = inputs;
  own.rows = rows;
  const double cores = kBoardClassCores[number];
  PodSpec pod;
  pod.request = {cores, cores * kBytesPerCore};
  const PlacementDecision advice = decide(view, pod, std::move(names), own, standing, turn, random);
  wire::BoardClass scores;
  scores.cpu_request_cores = cores;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (advice.scores[i] > 0) scores.scores.emplace(view.nodes[rows[i]].name, advice.scores[i]);
  }
  return scores;
}

std::vector<wire::BoardClass> board_classes(const ClusterView& view, const PolicyInputs& inputs,
                                            const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random) {
  std::vector<wire::BoardClass> classes;
  for (std::size_t number = 0; number < kBoardClassCores.size(); ++number)
    classes.push_back(board_class(number, view, inputs, options, turn, random));
  return classes;
}

}  // namespace wattle::placement
