// decider_board: the part of Decider that scores pod classes in advance, for shims that cannot reach the controller in
// time.
#include <algorithm>

#include "controller/decisions/decider.hpp"
#include "placement/decide/board.hpp"

namespace wattle::controller {

std::vector<wire::BoardClass> Decider::board() {
  const auto network = heard().network;
  return placement::board_classes(state_.view({}, clock_.mono()), engine_.inputs(network.get()), engine_.options(),
                                  figures_.decisions, random_);
}

void Decider::tell_starts(wire::Board& board) {
  const StartCap& cap = engine_.options().mask.start_cap;
  state_.view({}, clock_.mono());
  board.last_decision = next_id_ - 1;
  board.start_window_ms = 1000 * seconds(cap.window);
  for (const wire::BoardClass& one : board.classes) {
    for (const auto& [name, score] : one.scores) {
      const placement::NodeView* node = state_.node_view(name);
      if (node == nullptr) continue;
      const std::uint64_t most = cap.of(node->allocatable.cpu_cores);
      board.starts_left[name] = most - std::min(most, node->starts);
    }
  }
}

wire::BoardClass Decider::board_class(std::size_t number) {
  const auto network = heard().network;
  return placement::board_class(number, state_.view({}, clock_.mono()), engine_.inputs(network.get()),
                                engine_.options(), figures_.decisions, random_);
}

LoggedDecision Decider::what_if(placement::PodSpec pod, std::vector<std::string> candidates,
                                const placement::RewardConfig& reward) {
  const Pod* known = state_.pod(pod.uid);
  const Node* runs = known != nullptr ? state_.node(known->node) : nullptr;
  const auto row = runs != nullptr ? std::optional(runs->row) : std::nullopt;
  pod.node_name.clear();
  const placement::PodSpec spec = engine_.expected(std::move(pod));
  const Heard heard = this->heard();
  const models::QNetwork* network = reward.preset == spec_.reward.preset ? heard.network.get() : nullptr;
  std::mt19937_64 random(figures_.decisions);
  placement::PlacementDecision advice = engine_.what_if({.view = state_.view(spec, clock_.mono()),
                                                         .pod = spec,
                                                         .candidates = std::move(candidates),
                                                         .network = network,
                                                         .turn = figures_.decisions,
                                                         .random = random},
                                                        reward, row);
  wire::Decision decision = std::move(advice.record);
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(spec);
  return entry;
}

}  // namespace wattle::controller
