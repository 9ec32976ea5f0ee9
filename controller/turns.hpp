// turns: decides whose message is served next and for how long; docs/reference/fairness.md.
// Order    asks first, between any two steps of other work (steps.hpp); then pings, telemetry for a slice of time, one
//          query, and calls of HTTP.
//          The peer with the least recent usage is next, within bounds for each peer
// Errors   a message that finds no room is refused, counted and logged
// Threads  single owner
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "controller/answers.hpp"
#include "controller/ingest/overload.hpp"
#include "controller/ingest/peer_queues.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/ingest/unsent.hpp"
#include "controller/limits.hpp"
#include "controller/role_figures.hpp"
#include "controller/steps.hpp"
#include "controller/task_queue.hpp"

namespace wattle::controller {

class Turns {
 public:
  // `tasks`: calls of HTTP.
  Turns(const Parts& parts, transport::Server& telemetry_socket, transport::Server& ask_socket, Answers& answers,
        TaskQueue& tasks, Overload& overload);
  // Each turn of the loop calls these in this order.
  void asks();
  // While the store is behind, only pings are answered: records wait in the queues of their peers, which credit bounds.
  // Returns true if a message has arrived.
  bool telemetry();
  void query();
  void http();
  // Sends the acknowledgement of a node's records, and the Pong that waits for it.
  void acknowledge(const std::string& node, const Answer& answer);
  // Does all of the work, and serves asks between its steps.
  void finish(const Steps& steps);
  // Returns true if the current work must wait with its next step until asks have been served.
  bool asks_due() const { return parts_.clock.mono() - asks_served_ >= kAsksEvery; }
  // Returns true if the rest of a message of records must wait.
  bool enough() const { return parts_.clock.mono() >= message_until_; }
  void reply(const std::string& route, transport::Role role, const wire::Message& message);
  void flush() { unsent_.flush(); }
  // Returns how long the loop may sleep.
  std::chrono::milliseconds patience() const;
  bool telemetry_waits() const { return records_.ready(parts_.clock.mono()); }
  void expire(MonoTime now);

 private:
  void read_asks();
  bool read_telemetry();
  void take_telemetry(transport::Incoming&& incoming);
  void answer_ping(const transport::Incoming& incoming, const wire::Message& pong);
  void send_late_pongs();
  // Serves asks that have arrived, if that is due.
  void between_steps();
  bool serve_ask(Duration tolerance);
  void serve_asks(Duration slice, Duration tolerance);
  // Answers an ask or a query for which there is no room.
  void say_busy(const transport::Incoming& incoming, const std::optional<wire::Head>& head);
  Duration charge(PeerQueues& queue, const transport::Identity& peer, MonoTime begun, Duration asks_before);

  const Parts& parts_;
  transport::Server &telemetry_socket_, &ask_socket_;
  Answers& answers_;
  TaskQueue& tasks_;
  Overload& overload_;
  Unsent unsent_;
  PeerQueues asks_, queries_, records_;
  // A Pong that is sent with the acknowledgement of the records before its Ping: one packet in place of two.
  struct WaitingPong {
    std::string route, bytes;
    MonoTime since{};
  };
  std::unordered_map<std::string, WaitingPong> pongs_;  // by node
  std::deque<std::pair<MonoTime, std::string>> pongs_in_order_;
  Duration asks_between_{};                        // total time of asks served between steps of other work
  MonoTime message_until_{};                       // end of the time for the current message of records
  MonoTime asks_served_{};                         // last check for asks
  MonoTime next_query_at_{}, next_document_at_{};  // queries together have a share of the time, and so does HTTP
  bool documents_wait_ = false;
};

}  // namespace wattle::controller
