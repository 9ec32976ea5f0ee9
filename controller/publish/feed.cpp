#include "controller/publish/feed.hpp"

#include <utility>

#include "common/wire/codec.hpp"
#include "placement/decide/board.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
constexpr Duration kBoardEvery = std::chrono::seconds(1);
constexpr Duration kBoardAtMostEvery = milliseconds(250);
constexpr Duration kStateAtMostEvery = milliseconds(900);
constexpr double kBoardTtlMs = 3000;

}  // namespace

wire::NodeState state_of(const std::string& name, const Node& node, const placement::NodeView& view, MonoTime now) {
  wire::NodeState state;
  state.node = name;
  state.connected = node.connected;
  state.age_ms = node.sampled_at ? seconds(now - *node.sampled_at) * 1e3 : 0.0;
  state.values = node.values;
  state.power_w = node.power_w.value_or(0.0);
  state.pods = view.pods;
  state.cpu_requested_cores = view.requested.cpu_cores;
  state.memory_requested_bytes = view.requested.memory_bytes;
  state.probes = node.probes;
  return state;
}

namespace {

wire::Board empty_board(const Decider& decider, const ServingModel& networks) {
  wire::Board board;
  board.ttl_ms = kBoardTtlMs;
  board.neutral = !acts(decider.arm().arm);
  board.policy = decider.spec().policy;
  const auto network = networks.get();
  board.model_step = network ? network->step() : 0;
  return board;
}

}  // namespace

wire::Board board_of(Decider& decider, const ServingModel& networks) {
  wire::Board board = empty_board(decider, networks);
  if (!board.neutral) board.classes = decider.asks().board();
  decider.asks().report_starts(board);
  return board;
}

void Feed::drain() {
  if (publisher_.drain()) changed_ = true;
}

bool Feed::board(Decider& decider, const ServingModel& networks, MonoTime now) {
  // Drops a board that was started for another mode, policy or block, and makes the next one soon.
  if (made_for_ != decider.spec_changes() || (making_ && making_->neutral == acts(decider.arm().arm))) {
    making_.reset();
    changed_ = true;
  }
  if (!making_) {
    if (!publisher_.wanted(transport::kTopicBoard)) return false;
    const bool due = board_seq_ == 0 || now - board_at_ >= kBoardEvery;
    const bool stops =
        acting_ && !acts(decider.arm().arm);  // publish at once: shims without an answer use the last board
    if (!due && !stops && !(changed_ && now - board_at_ >= kBoardAtMostEvery)) return false;
    making_ = empty_board(decider, networks);
    made_for_ = decider.spec_changes();
    board_at_ = now;
    changed_ = false;
  }
  if (!making_->neutral) making_->classes.push_back(decider.asks().board_class(making_->classes.size()));
  if (!making_->neutral && making_->classes.size() < placement::kBoardClassCores.size()) return true;
  decider.asks().report_starts(*making_);
  making_->epoch = epoch_;
  making_->seq = ++board_seq_;
  acting_ = !making_->neutral;
  publisher_.publish(transport::kTopicBoard, wire::encode(*std::exchange(making_, std::nullopt)));
  return false;
}

void Feed::state(const std::string& name, const ClusterState& cluster, MonoTime now) {
  if (!publisher_.wanted(transport::kTopicState)) return;
  const Node* node = cluster.node(name);
  const auto [at, fresh] = state_at_.try_emplace(name, now);
  if (node == nullptr || (!fresh && node->connected && now - at->second < kStateAtMostEvery)) return;
  at->second = now;
  const wire::StateChange change{epoch_, ++state_seq_, state_of(name, *node, *cluster.node_view(name), now)};
  publisher_.publish(transport::kTopicState, wire::encode(change));
}

void Feed::decisions(const DecisionLog& log, const std::set<std::uint64_t>& changed) {
  if (!publisher_.wanted(transport::kTopicDecision)) return;
  for (const std::uint64_t id : changed) {
    if (const LoggedDecision* entry = log.find(id))
      publisher_.publish(transport::kTopicDecision, wire::encode(entry->decision));
  }
}

}  // namespace wattle::controller
