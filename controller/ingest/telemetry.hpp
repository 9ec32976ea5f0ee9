// telemetry: the controller's side of the agents' sessions, without sockets: takes bytes and returns messages.
// Rules    a key of role agent speaks for its own node only, and Hello comes first. The higher incarnation of a node
//          takes over at once; a lower one is refused while the higher is connected; two that keep taking over from
//          each other are both disconnected. Records are accepted once by (node, incarnation, seq) and acknowledged
//          cumulatively after the store has committed them (at once without a store). Refused records are acknowledged,
//          too, because sending them again would not help. Undecodable data ends the session
// Credit   the number of unacknowledged records that an agent may have: a share of the store's queue, less for an agent
//          that sends much more than others. An agent that exceeds its credit is cut
// Overload acknowledgements carry the interval and the credit that shed() sets
// Sleep    order() carries a SleepOrder to the node's session. A session that ends after a goodbye is not lost
// Errors   only order() returns errors. All others become a Refusal, a count in the figures, and one log line a minute
//          per node
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"
#include "controller/ingest/clock_offset.hpp"
#include "controller/ingest/duplicate_agents.hpp"
#include "controller/ingest/overload.hpp"
#include "controller/ingest/record_reader.hpp"
#include "controller/ingest/telemetry_sink.hpp"
#include "controller/store/record_store.hpp"

namespace wattle::controller {

struct Answer {
  std::string route;
  wire::Message message;
};

class Telemetry {
 public:
  // `refusals`, if set, counts refusals too. `marks`: up to where records are in the store.
  Telemetry(const Clock& clock, const Log& log, TelemetrySink& sink, transport::RefusalCounts* refusals = nullptr,
            RecordStore* store = nullptr, const StoreMarks& marks = {});
  // Returns answers to the same peer.
  std::vector<wire::Message> receive(const transport::Incoming& incoming);
  // True if the sink paused within that message, which must outlive its reading.
  bool reads() const { return reader_.reads(); }
  // Continues with that message as receive() does.
  std::vector<wire::Message> read_on();
  // Takes the unread records of the last message as a separate message; receive it next for this peer.
  std::optional<std::string> take_rest() { return reader_.take_rest(); }
  // Answers a Ping ahead of the peer's waiting messages; no value if it must wait behind them. The answer confirms no
  // placement while one waits.
  std::optional<wire::Message> answer_ping(const transport::Incoming& incoming, bool placement_waits);
  // False if the peer continues after its session ended, when only a Hello is accepted. True also shows that the peer
  //          is alive.
  bool expects(const transport::Incoming& incoming);
  // Ends the session for lack of room; its agent sends unacknowledged records again.
  std::vector<wire::Message> refuse_busy(const transport::Incoming& incoming);
  // Ends the session of this key; returns its route.
  std::optional<std::string> revoke(const std::string& node, const std::string& key);
  // Records that the store committed `records` records of the node, the last of which is `last`.
  std::optional<Answer> committed(const std::string& node, const RecordMark& last, std::size_t records);
  // Returns the order to send to the node's session. unavailable: it has none; unsupported: its agent is too old.
  Result<Answer> order(const std::string& node, const wire::SleepOrder& order);
  // Ends sessions that have been silent too long.
  void expire();
  std::size_t sessions() const { return sessions_.size(); }
  // Limits what agents send until the next call.
  void shed(const Shedding& shedding) { shedding_ = shedding; }
  const Shedding& shedding() const { return shedding_; }
  const TelemetryFigures& figures() const { return figures_; }
  // Nodes whose key was used by two agents recently.
  std::vector<std::string> conflicts() const { return duplicates_.conflicts(); }
  std::uint64_t conflicts_found() const { return duplicates_.found(); }
  const ClockOffsets& clocks() const { return clocks_; }

 private:
  std::vector<wire::Message> refuse(const transport::Incoming& from, std::string subject, std::string what,
                                    std::string fix, transport::Refused reason = transport::Refused::session);
  std::vector<wire::Message> on_hello(const transport::Incoming& from, const wire::Hello& hello);
  std::vector<wire::Message> on_samples(const transport::Incoming& from, Session& session, wire::Samples& samples);
  std::vector<wire::Message> on_live(const transport::Incoming& from, Session& session, wire::Live& live);
  void count_in_second(Session& session, std::size_t records) const;
  std::uint64_t credit(const Session& session) const;
  wire::Ack ack(const std::string& node, Session& session, const RecordMark& mark);
  bool may_send_student();
  std::vector<wire::Message> on_placement(const transport::Incoming& from, const wire::Placement& placement);
  std::vector<wire::Message> on_goodbye(const transport::Incoming& from, Session& session,
                                        const wire::Goodbye& goodbye);
  RecordMark held(const NodeHistory& history, std::uint64_t incarnation) const;
  void end_session(const std::string& node);

  const Clock& clock_;
  const Log& log_;
  TelemetrySink& sink_;
  transport::RefusalCounts* refusals_;
  LogThrottle reported_{std::chrono::seconds(60)};
  std::unordered_map<std::string, Session> sessions_;  // by node
  MonoTime none_is_silent_before_{};
  std::unordered_map<std::string, NodeHistory> history_;  // by identity name
  TelemetryFigures figures_;
  DuplicateAgents duplicates_;
  RecordReader reader_;
  Shedding shedding_;
  ClockOffsets clocks_;
  MonoTime students_began_{};
  std::uint64_t students_in_second_ = 0;
};

}  // namespace wattle::controller
