// peer_queues: queues the unprocessed messages of each peer. The peer with the least recent usage is next.
// Model    usage decays to a third in 10 s; among equal peers the first to arrive is next. In addition, time t that a
//          peer uses is paid back in t / share, and a peer that owes more than `tolerance` waits until it owes less. A
//          peer is a name and a role, regardless of its number of connections
// Bounds   per peer `messages` and `bytes`, and at most a quarter of the free part of `all_bytes`, so that peers that
//          send without pause leave room for others. One message may always wait
// Errors   none: a message without room stays with the caller
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::controller {

struct PeerLimits {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t all_bytes = 0;
  double share = 1;
  Duration tolerance{};
  Duration most_owed = std::chrono::seconds(30);  // debt beyond it is forgotten
};

class PeerQueues {
 public:
  explicit PeerQueues(PeerLimits limits) : limits_(limits) {}

  enum class Sort : std::uint8_t { in_turn, placement, live };
  struct Waiting {
    transport::Incoming message;
    MonoTime since{};
    Sort sort = Sort::in_turn;
  };
  // Returns false if there is no room; the message is then unchanged. A live message takes the place of an older one
  // that still waits.
  bool push(transport::Incoming&& message, MonoTime now, Sort sort = Sort::in_turn);
  // Returns whether a message of this peer waits.
  bool waits(const transport::Identity& peer) const;
  // Returns whether a placement of this peer waits.
  bool holds_placement(const transport::Identity& peer) const;
  // No value if no message waits, or if every waiting peer owes too much.
  std::optional<Waiting> next(MonoTime now) { return next(now, limits_.tolerance); }
  std::optional<Waiting> next(MonoTime now, Duration tolerance);
  // Puts the message back as its peer's next.
  void put_back(Waiting&& waiting);
  // Skips the peer until then.
  void pause(const transport::Identity& peer, MonoTime until);
  // Charges the peer for the time of its message.
  void charge(const transport::Identity& peer, Duration used, MonoTime now);
  // Drops the peer's messages from this route, and returns their number.
  std::size_t drop(const transport::Identity& peer, const std::string& route);
  // Forgets peers that neither wait nor owe.
  void expire(MonoTime now);

  bool ready(MonoTime now) const { return first(now, limits_.tolerance) != order_.end(); }
  std::size_t messages() const { return messages_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t peers() const { return peers_.size(); }

 private:
  struct Peer;
  struct Turn {
    // Logarithm of the usage, scaled to the clock's origin, so that the order of two peers does not change over time.
    double used = 0;
    MonoTime since{};
    const transport::Identity* who = nullptr;
    Peer* peer = nullptr;
    bool operator<(const Turn& other) const;
  };
  struct Hash {
    std::size_t operator()(const transport::Identity& who) const {
      return std::hash<std::string>{}(who.name) + static_cast<std::size_t>(who.role);
    }
  };
  struct Peer {
    std::deque<Waiting> waiting;
    std::size_t bytes = 0;
    std::size_t placements = 0;
    MonoTime paid_at{};  // time at which its debt is paid
    double used = -std::numeric_limits<double>::infinity();
    std::optional<std::set<Turn>::iterator> turn;  // set while a message waits
  };
  std::set<Turn>::iterator first(MonoTime now, Duration tolerance) const;
  void queue_up(const transport::Identity& who, Peer& peer);
  void count_in(Peer& peer, const Waiting& waiting);
  void count_out(Peer& peer, const Waiting& waiting);
  // Returns false if no older one waits.
  bool replace_live(Peer& peer, transport::Incoming&& message);

  PeerLimits limits_;
  std::unordered_map<transport::Identity, Peer, Hash> peers_;
  std::set<Turn> order_;  // peers with waiting messages
  std::size_t messages_ = 0, bytes_ = 0;
};

}  // namespace wattle::controller
