// feed: publishes boards, node states and decisions to subscribers.
// Rules    a board every second, and at most every 250 ms after a change; states as samples arrive, at most one a
//          second per node; messages without subscribers are not built
// Errors   none: a subscriber with a full queue loses messages and asks for a snapshot
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"

namespace wattle::controller {

wire::NodeState state_of(const std::string& name, const Node& node, const placement::NodeView& view, MonoTime now);
wire::Board board_of(Decider& decider, const ServingModel& networks);  // without epoch and seq

class Feed {
 public:
  Feed(transport::Publisher publisher, std::uint64_t epoch) : publisher_(std::move(publisher)), epoch_(epoch) {}
  const transport::Publisher& socket() const { return publisher_; }
  // Reads subscriptions; a new subscriber gets a board at once.
  void drain();
  void changed() { changed_ = true; }
  // Builds at most one class of a board per call, because asks wait meanwhile. Returns true if classes are left.
  bool board(Decider& decider, const ServingModel& networks, MonoTime now);
  void state(const std::string& name, const ClusterState& cluster, MonoTime now);
  // Publishes the decisions with these ids that the log still has.
  void decisions(const DecisionLog& log, const std::set<std::uint64_t>& changed);
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t state_seq() const { return state_seq_; }
  std::uint64_t boards() const { return board_seq_; }

 private:
  transport::Publisher publisher_;
  std::uint64_t epoch_;
  std::uint64_t board_seq_ = 0, state_seq_ = 0;
  bool changed_ = true;
  MonoTime board_at_{};
  std::optional<wire::Board> making_;
  std::uint64_t made_for_ = 0;  // Decider::spec_changes() at the start of the board
  bool acting_ = false;         // whether the last published board acted
  std::map<std::string, MonoTime> state_at_;
};

}  // namespace wattle::controller
