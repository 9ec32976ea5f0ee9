// session: an agent's side of the telemetry conversation, over an Outbox. The agent and the swarm both use it.
// Rules    Hello -> Welcome; Samples within credit and max_batch; cumulative Ack; our Ping every second, dead after 5 s
// of
//          silence; reconnect with jittered backoff to 32 s; a refused or dead socket is rebuilt; Placements are
//          repeated after each Welcome until the controller's answer to a later Ping shows that they arrived
// Errors   none outward: the world's failures are states, told by status()
// Threads  single owner; never blocks
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/outbox.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

struct SessionStatus {
  bool welcomed = false;
  std::string problem;          // why not, for people
  std::uint64_t acked_seq = 0;  // of the present incarnation
  std::uint64_t sent_records = 0;
  std::uint64_t reconnects = 0;
};

class AgentSession {
 public:
  AgentSession(Client client, Outbox& outbox, wire::Hello hello, const Clock& clock, const Log& log,
               std::uint64_t seed);
  // Receives what waits, keeps alive, sends what may be sent. Call when the socket is readable and at least 10 times a
  // second.
  void pump();
  void report(wire::Placement placement);
  const SessionStatus& status() const { return status_; }
  const Socket& socket() const { return client_; }

 private:
  // (private part is the implementer's)
  void lose(const std::string& why);
  void handle(const std::string& bytes);
  void send_samples();
  void send(const wire::Message& message);

  Client client_;
  Outbox& outbox_;
  wire::Hello hello_;
  const Clock& clock_;
  const Log& log_;
  std::mt19937_64 random_;
  SessionStatus status_;
};

}  // namespace wattle::transport
