// session: agent side of the telemetry protocol, over an Outbox. Used by the agent and the swarm.
// Rules    Hello -> Welcome; Samples within credit and max_batch; cumulative Ack; a Ping from us every second; dead
//          after 5 s of silence; reconnects with jittered backoff up to 32 s; a refused or dead socket is rebuilt;
//          Placements are repeated after each Welcome until the answer to a later Ping shows that they arrived
// Overload an Ack may ask for a longer interval of records, which the owner follows; pings are then rarer, too
// Backlog  while older records wait, the newest interval is sent first as Live. The backlog starts after a random
//          pause, so that a fleet does not return all at once, and is sent at most at Pace::per_s records per second
// Clock    a new conversation begins when our clock has been stopped, because the peer maps our times since the Hello
// Sleep    the owner receives the controller's sleep orders and decides. hold() and flushed() empty the outbox before a
//          goodbye; fall_silent() ends the conversation without loss until wake()
// Errors   none returned: failures are states in status()
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

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/outbox.hpp"
#include "common/transport/peer_clock.hpp"
#include "common/transport/sleep_hold.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

// Value for ClientOptions::reconnect_max. A failed attempt to connect costs almost nothing, and a short pause brings a
// whole fleet back soon after a long outage of the controller. Refused links are costly and have the session's own
// backoff.
inline constexpr std::chrono::milliseconds kAgentReconnectMax{2'000};

// Rate at which a backlog is sent.
struct Pace {
  // Maximum pause before the first record; shorter for a small backlog, in proportion to its size.
  Duration spread_per_record = std::chrono::milliseconds(100), spread_max = std::chrono::seconds(5);
  // Records; more than any node produces in parts of a short tick. The controller's credit slows agents that have more
  // than 256 in flight.
  double per_s = 1000;
  double at_once = 64;
  Duration live_every =
      std::chrono::seconds(2);  // minimum interval between two Live, and so the delay of new data behind a backlog
};

struct SessionStatus {
  bool welcomed = false;
  std::string problem;          // reason why not welcomed, for people
  bool key_refused = false;     // since the last welcome: our key is not on the list, or the server's key differs
  bool reused = false;          // an earlier start used our incarnation: the controller takes new records for copies
  std::uint64_t acked_seq = 0;  // current incarnation only
  std::map<std::string, std::string> pod_levels;    // sent with the last Ack
  std::map<std::string, wire::MarginStep> margins;  // sent with the last Ack
  std::uint64_t student_version = 0;                // sent with the last Ack
  std::shared_ptr<const std::string> student;       // file of that version; null until it has arrived
  Duration tick{};                                  // shortest interval that the last Ack asks for; 0: the agent's own
  MonoTime acked_at{};                              // arrival of the last Ack
  std::uint64_t sent_records = 0;
  std::uint64_t live = 0;  // intervals sent ahead of their turn
  std::uint64_t reconnects = 0;
};

class AgentSession {
 public:
  AgentSession(Client client, Outbox& outbox, wire::Hello hello, const Clock& clock, const Log& log, std::uint64_t seed,
               Pace pace = {});
  // Receives waiting messages, keeps the link alive and sends what is allowed. Call when the socket is readable, after
  // a push or report, and at the latest after patience().
  void pump();
  // Time for which pump() has nothing to do: until a Ping is overdue on a quiet link, otherwise a tenth of a second.
  Duration patience() const;
  // Returns whether to wake up for received messages. False while the controller can only acknowledge records, which
  // may wait for the next sample.
  bool listening() const { return phase_ != Phase::welcomed || blocked_ || piled_up(); }
  void report(wire::Placement placement);

  // Takes the controller's last sleep order in this conversation, if it is new.
  std::optional<wire::SleepOrder> take_sleep_order() {
    return phase_ == Phase::welcomed ? sleep_.take_order() : std::nullopt;
  }
  // Until release() or the end of the conversation, sends only records that the outbox has now, and no placement.
  void hold() { sleep_.begin(outbox_, sent_); }
  void release() { sleep_.release(); }
  // Returns whether the controller has acknowledged all records that hold() lets through.
  bool flushed() const { return phase_ == Phase::welcomed && sleep_.all_sent(outbox_, sent_) && in_flight_.empty(); }
  // Returns false if the goodbye could not be sent.
  bool say(const wire::Goodbye& goodbye) { return phase_ == Phase::welcomed && send(goodbye); }
  // Sends and expects no message until wake(), which starts a conversation.
  void fall_silent() {
    silent_ = true;
    status_.welcomed = false;
    status_.problem = "the node goes to sleep";
  }
  bool silent() const { return silent_; }
  void wake(std::string why);

  const SessionStatus& status() const { return status_; }
  const Socket& socket() const { return client_; }

 private:
  enum class Phase { connecting, greeting, welcomed, waiting };  // waiting: until retry_at_, after a loss
  struct Report {
    wire::Placement placement;
    bool sent = false;
    std::uint64_t answered_by = 0;  // nonce of the first Ping after it
  };

  void lose(const std::string& why);
  void reopen();
  void follow_link();
  void receive();
  void handle(const std::string& bytes);
  void on_welcome(const wire::Welcome& welcome);
  void on_ack(const wire::Ack& ack);
  void take_student(const wire::Ack& ack);
  Duration ping_every() const;
  void on_pong(const wire::Pong& pong);
  void ping();
  void send_placements();
  void send_live();
  void send_samples();
  void drain();
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
  std::uint64_t times_up_ = 0;  // client's value when this conversation began
  MonoTime retry_at_{};
  int failures_ = 0;  // losses since the last conversation that succeeded
  MonoTime received_at_{};
  MonoTime pinged_at_{};
  PeerClock peer_clock_;
  std::uint64_t next_nonce_ = 1;
  bool unknown_kind_reported_ = false;
  bool blocked_ = false;  // a send failed; tries again soon

  std::uint64_t version_ = wire::kVersionMin;  // chosen by the controller
  std::size_t max_batch_ = 1;
  std::size_t max_message_bytes_ = 0;
  std::size_t credit_ = 0;
  RecordMark sent_;           // last record sent in this conversation, or known to be stored
  RecordMark gaps_reported_;  // end of the last gap sent in this conversation
  RecordMark live_;           // last record sent ahead of its turn
  MonoTime live_at_{};
  MonoTime backfill_at_{};
  double allowance_ = 0;  // records that may be sent now
  MonoTime allowed_at_{};
  SleepHold sleep_;
  bool silent_ = false;
  std::deque<RecordMark> in_flight_;
  std::deque<Report> reports_;
};

}  // namespace wattle::transport
