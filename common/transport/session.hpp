// session: an agent's side of the telemetry conversation, over an Outbox. The agent and the swarm both use it.
// Rules    Hello -> Welcome; Samples within credit and max_batch; cumulative Ack; our Ping every second; dead after 5 s
//          of silence; reconnect with jittered backoff to 32 s; a refused or dead socket is rebuilt; Placements are
//          repeated after each Welcome until the controller's answer to a later Ping shows that they arrived
// Backlog  while older records wait, the newest interval goes ahead of them as Live. They begin after a pause that is drawn at
//          random, so that a fleet does not come back all at once, and go at most Pace::per_s a second
// Errors   none outward: the world's failures are states, told by status()
// Threads  single owner; never blocks
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/outbox.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

// For ClientOptions::reconnect_max. A connection that nobody takes costs both sides next to nothing, and all of a fleet are back
// soon after a controller that was away for long; what is costly, a link that is refused, has the session's own backoff.
inline constexpr std::chrono::milliseconds kAgentReconnectMax{2'000};

// How what has piled up is sent.
struct Pace {
  // The pause before the first, at most: in proportion to what waits, as far as that is little.
  Duration spread_per_record = std::chrono::milliseconds(100), spread_max = std::chrono::seconds(5);
  // Records; more than any node makes, in parts of a short tick. By credit the controller holds back who sends more than 256.
  double per_s = 1000;
  double at_once = 64;
  Duration live_every =
      std::chrono::seconds(2);  // at least; what is new is shown this late at most, and older ones go meanwhile
};

struct SessionStatus {
  bool welcomed = false;
  std::string problem;          // why not, for people
  bool key_refused = false;     // since the last welcome: our key is not on the list, or the server's is another
  std::uint64_t acked_seq = 0;  // of the present incarnation
  std::map<std::string, std::string> pod_levels;    // as the last Ack told
  std::map<std::string, wire::MarginStep> margins;  // likewise
  MonoTime acked_at{};                              // when it came
  std::uint64_t sent_records = 0;
  std::uint64_t live = 0;  // intervals that were told ahead of their turn
  std::uint64_t reconnects = 0;
};

class AgentSession {
 public:
  AgentSession(Client client, Outbox& outbox, wire::Hello hello, const Clock& clock, const Log& log, std::uint64_t seed,
               Pace pace = {});
  // Receives what waits, keeps alive, sends what may be sent. Call when the socket is readable, when something was
  // pushed or reported, and at the latest after patience().
  void pump();
  // How long nothing needs to be done: until a Ping is overdue on a quiet link, else a tenth of a second.
  Duration patience() const;
  // Whether to wake up for what arrives. Not while the controller can only acknowledge what it has got: that may wait
  // for the next sample.
  bool listening() const { return phase_ != Phase::welcomed || blocked_ || piled_up(); }
  void report(wire::Placement placement);
  const SessionStatus& status() const { return status_; }
  const Socket& socket() const { return client_; }

 private:
  enum class Phase { connecting, greeting, welcomed, waiting };  // waiting: for retry_at_, after a loss
  struct Report {
    wire::Placement placement;
    bool sent = false;
    std::uint64_t answered_by = 0;  // nonce of the first Ping behind it
  };

  void lose(const std::string& why);
  void reopen();
  void follow_link();
  void receive();
  void handle(const std::string& bytes);
  void on_welcome(const wire::Welcome& welcome);
  void on_ack(const wire::Ack& ack);
  void on_pong(const wire::Pong& pong);
  void ping();
  void send_placements();
  void send_live();
  void send_samples();
  std::size_t allowance();
  bool piled_up() const;
  bool send_gaps(std::uint64_t incarnation);
  bool send_batch(std::span<const EncodedRecord> records);
  std::size_t fitting(std::span<const EncodedRecord> records) const;
  bool send(const wire::Message& message);

  Client client_;
  Outbox& outbox_;
  wire::Hello hello_;
  const Clock& clock_;
  const Log& log_;
  std::mt19937_64 random_;
  const Pace pace_;
  SessionStatus status_;

  Phase phase_ = Phase::connecting;
  std::uint64_t times_up_ = 0;  // the client's, when this conversation began
  MonoTime retry_at_{};
  int failures_ = 0;  // losses since a conversation last got going
  MonoTime heard_at_{};
  MonoTime pinged_at_{};
  std::uint64_t next_nonce_ = 1;
  bool unknown_kind_told_ = false;
  bool blocked_ = false;  // something could not be sent; it is tried again soon

  std::uint64_t version_ = wire::kVersionMin;  // that the controller chose
  std::size_t max_batch_ = 1;
  std::size_t max_message_bytes_ = 0;
  std::size_t credit_ = 0;
  RecordMark sent_;       // last record sent in this conversation, or known to be kept
  RecordMark gaps_told_;  // end of the last gap told in this conversation
  RecordMark live_;       // last record told ahead of its turn
  MonoTime live_at_{};
  MonoTime backfill_at_{};
  double allowance_ = 0;  // records that may go now
  MonoTime allowed_at_{};
  std::deque<RecordMark> in_flight_;
  std::deque<Report> reports_;
};

}  // namespace wattle::transport
