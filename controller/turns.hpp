// turns: whose message is looked at next, and for how long; docs/reference/fairness.md.
// Order    asks before all, between any two other things that are done; then telemetry for a slice of time, one query, calls of
//          HTTP. Who used least of late is next, within bounds for each peer
// Errors   what finds no room is refused, counted and told
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "controller/answers.hpp"
#include "controller/ingest/peer_queues.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/ingest/unsent.hpp"
#include "controller/role_figures.hpp"
#include "controller/task_queue.hpp"

namespace wattle::controller {

struct TurnsParts {
  const Clock& clock;
  transport::Server& telemetry_socket;
  transport::Server& ask_socket;
  Telemetry& telemetry;
  Answers& answers;
  TaskQueue& tasks;  // calls of HTTP
  RoleFigures& roles;
};

class Turns {
 public:
  explicit Turns(TurnsParts parts);
  // One turn, in this order.
  void asks();
  void telemetry();
  void query();
  void http();
  // For what takes long, between its parts: asks that came meanwhile are answered.
  void breathe();
  // What is left of a message of records has to wait.
  bool enough() const { return parts_.clock.mono() >= message_until_; }
  void reply(const std::string& route, transport::Role role, const wire::Message& message);
  void flush() { unsent_.flush(); }
  // How long nobody need look; `store_waits`: telemetry is not read now.
  std::chrono::milliseconds patience(bool store_waits) const;
  bool telemetry_waits() const { return records_.ready(parts_.clock.mono()); }
  void expire(MonoTime now);

  WaitingBytes waiting_bytes() const { return {asks_.bytes(), queries_.bytes(), records_.bytes()}; }

 private:
  void read_asks();
  void read_telemetry();
  bool serve_ask(Duration tolerance);
  void serve_asks(Duration slice, Duration tolerance);
  // To an ask or a query for which there is no room.
  void say_busy(const transport::Incoming& incoming, const std::optional<wire::Head>& head);
  Duration charge(PeerQueues& queue, const transport::Identity& peer, MonoTime begun, Duration breathed);

  TurnsParts parts_;
  Unsent unsent_;
  PeerQueues asks_, queries_, records_;
  Duration breathed_{};                            // asks took, so far, that were answered within other things
  MonoTime message_until_{};                       // when a message of records has had its time
  MonoTime breathed_at_{};                         // when asks were looked for last
  MonoTime next_query_at_{}, next_document_at_{};  // queries together have a share of the time, and so has HTTP
  bool documents_wait_ = false;
};

}  // namespace wattle::controller
