// peer_queues: what peers have sent and nobody has looked at yet, in a queue for each of them; who has used least of late is next.
// Model    what a peer used counts less as time passes, to a third in 10 s; among equals, who came first. Besides, time t that it
//          used is paid back in t / share, and who owes more than `tolerance` waits until he owes less. A peer is a name and a role,
//          however many connections it has
// Bounds   of a peer: `messages` and `bytes`, and never more than a quarter of what is free of `all_bytes`, so that some peers that
//          send without end leave room for the others; one message may always wait
// Errors   none: what finds no room is not taken, and left to the caller
// Threads  single owner
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::controller {

struct PeerLimits {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t all_bytes = 0;
  double share = 1;
  Duration tolerance{};
};

// What waits at the sockets of a controller, over all peers.
struct WaitingBytes {
  std::size_t asks = 0, queries = 0, telemetry = 0;
};

class PeerQueues {
 public:
  explicit PeerQueues(PeerLimits limits) : limits_(limits) {}

  struct Waiting {
    transport::Incoming message;
    MonoTime since{};
  };
  // False: there is no room; the message is as it was.
  bool push(transport::Incoming&& message, MonoTime now);
  // Nothing: nobody waits, or who waits owes too much.
  std::optional<Waiting> next(MonoTime now) { return next(now, limits_.tolerance); }
  std::optional<Waiting> next(MonoTime now, Duration tolerance);
  // It is its peer's next again.
  void put_back(Waiting&& waiting);
  // The peer's turn does not come before then.
  void pause(const transport::Identity& peer, MonoTime until);
  // The peer's message took that long.
  void charge(const transport::Identity& peer, Duration used, MonoTime now);
  // What came by this route is not wanted any more. How many messages that were.
  std::size_t drop(const transport::Identity& peer, const std::string& route);
  // Peers that neither wait nor owe are forgotten.
  void expire(MonoTime now);

  bool ready(MonoTime now) const { return first(now, limits_.tolerance) != order_.end(); }
  std::size_t messages() const { return messages_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t peers() const { return peers_.size(); }
  const PeerLimits& limits() const { return limits_; }

 private:
  struct Turn {
    double
        used;  // logarithm of what was used, as if at the clock's beginning: the order of two does not change as time passes
    MonoTime since{};
    std::string name;
    auto operator<=>(const Turn&) const = default;
  };
  struct Peer {
    std::deque<Waiting> waiting;
    std::size_t bytes = 0;
    MonoTime paid_at{};  // when it will owe nothing
    double used = -std::numeric_limits<double>::infinity();
    std::optional<std::set<Turn>::iterator> turn;  // while something waits
  };
  std::set<Turn>::iterator first(MonoTime now, Duration tolerance) const;
  void queue_up(const std::string& name, Peer& peer);
  void count_out(Peer& peer, const transport::Incoming& message);

  PeerLimits limits_;
  std::map<std::string, Peer> peers_;  // by user id
  std::set<Turn> order_;               // of those for whom something waits
  std::size_t messages_ = 0, bytes_ = 0;
};

}  // namespace wattle::controller
