// feed: boards, node states and decisions for whoever subscribed.
// Rules    a board every second, and at most every 250 ms when something changed; states as samples come, at most one a
//          second per node; nothing is made that nobody subscribes to
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
  // At most one class of a board a call, since asks wait meanwhile. True: more of it is to be made.
  bool board(Decider& decider, const ServingModel& networks, MonoTime now);
  void state(const std::string& name, const ClusterState& cluster, MonoTime now);
  // Of these ids, those that the log still has.
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
  std::uint64_t made_for_ = 0;  // Decider::takes() when it was begun
  bool acting_ = false;         // by the last board that was published
  std::map<std::string, MonoTime> state_at_;
};

}  // namespace wattle::controller
