// telemetry: the controller's side of the agents' sessions, without sockets: takes bytes and returns messages.
// Rules    a key of role agent speaks for its own node only, and Hello comes first. The higher incarnation of a node
//          takes over at once; a lower one is refused while the higher lives; two that keep taking over from each other
//          are both cut. Records are taken once by (node, incarnation, seq) and acknowledged cumulatively after the
//          store has committed them (at once without a store). Refused records are acknowledged too, since sending them
//          again would not help. Undecodable data ends the session
// Credit   the number of records that an agent may have on their way: a share of the store's queue, less for an agent
//          that sends much more than others. An agent that exceeds its credit is cut
// Overload acknowledgements carry the interval and the credit that shed() sets
// Sleep    order() carries a SleepOrder to the node's session. A session that ends after a goodbye is not lost
// Errors   none outward but those of order(): each becomes a Refusal, a number in the figures, and one line a minute
//          per node in the log
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"
#include "controller/ingest/clock_offset.hpp"
#include "controller/ingest/overload.hpp"
#include "controller/ingest/validate.hpp"
#include "controller/provision/student.hpp"
#include "controller/store/record_store.hpp"

namespace wattle::controller {

// Receives the records, placements and findings of all sessions.
class TelemetrySink {
 public:
  virtual ~TelemetrySink() = default;
  virtual void on_hello(const wire::Hello& hello) = 0;
  // Called before a record is folded, shown and kept: units that are confirmed workloads get their UIDs. Returns true
  // if the record changed.
  virtual bool name(const std::string&, Record&) { return false; }
  // Called before a record is shown and kept: merges workloads beyond a node's share; returns how many.
  virtual std::size_t fold(const std::string&, Record&) { return 0; }
  // Called between two records of a message: true leaves the others for take_rest().
  virtual bool enough() { return false; }
  // Called between two steps: true leaves the others for read_on().
  virtual bool pause() { return false; }
  // Does a part of what on_record() or on_live() left to do; returns true while more is left. The arguments of the call
  // are still valid.
  virtual bool step() { return false; }
  virtual void on_record(const std::string& node, const Record& record) = 0;
  // A record ahead of its turn; it comes again.
  virtual void on_live(const std::string& node, const Record& record) = 0;
  virtual void on_placement(const wire::Placement& placement) = 0;
  virtual void on_lost(const std::string& node) = 0;
  // The node's agent answers a SleepOrder (sleep_link.hpp).
  virtual void on_goodbye(const std::string&, const wire::Goodbye&) {}
  // Levels from the annotations of the node's pods (wire::Ack).
  virtual std::map<std::string, std::string> pod_levels(const std::string&) { return {}; }
  // Margins for the node's services (wire::Ack).
  virtual std::map<std::string, wire::MarginStep> margins(const std::string&) { return {}; }
  // Student for the node's services (wire::Ack); null: none.
  virtual std::shared_ptr<const Student> student(const std::string&) { return nullptr; }
};

struct TelemetryFigures {
  std::uint64_t records = 0;     // accepted
  std::uint64_t duplicates = 0;  // accepted before
  std::uint64_t refused = 0;     // out of range
  std::uint64_t missing = 0;     // numbers that were skipped
  std::uint64_t conflicts = 0;   // detections of two agents with one key
};

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
  bool reads() const { return reading_.has_value(); }
  // Goes on with that message as receive() does.
  std::vector<wire::Message> read_on();
  // Takes the unread rest of the last message as a message of its own; receive it next for this peer.
  std::optional<std::string> take_rest() { return std::exchange(rest_, std::nullopt); }
  // Answers a Ping ahead of the peer's waiting messages; no value if it must wait behind them. The answer confirms no
  // placement while one waits.
  std::optional<wire::Message> answer_ping(const transport::Incoming& incoming, bool placement_waits);
  // False if the peer continues after its session ended, when only a Hello is accepted. True also shows that the peer
  // lives.
  bool expects(const transport::Incoming& incoming);
  // Ends the session for lack of room; unacknowledged records come again.
  std::vector<wire::Message> refuse_busy(const transport::Incoming& incoming);
  // Ends the session of this key; returns its route.
  std::optional<std::string> revoke(const std::string& node, const std::string& key);
  // The store has committed `records` records of the node, the last of which is `last`.
  std::optional<Answer> committed(const std::string& node, const RecordMark& last, std::size_t records);
  // Returns the order for the node's session, to be sent there. unavailable: it has none; unsupported: its agent is too
  // old.
  Result<Answer> order(const std::string& node, const wire::SleepOrder& order);
  // Ends sessions that have been silent too long.
  void expire();
  std::size_t sessions() const { return sessions_.size(); }
  // Asks agents for no more than this from now on.
  void shed(const Shedding& shedding) { shedding_ = shedding; }
  const Shedding& shedding() const { return shedding_; }
  const TelemetryFigures& figures() const { return figures_; }
  // Nodes whose key was used by two agents recently.
  std::vector<std::string> conflicts() const;
  const ClockOffsets& clocks() const { return clocks_; }

 private:
  static constexpr std::uint64_t kCredit = 256;  // of a session, at most
  // Limit of a node's uncommitted records: its credit, and that of its last session.
  static constexpr std::size_t kMaxPending = 2 * kCredit;
  // Limit of incarnations and numbers: a store holds them signed.
  static constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;

  struct Session {
    std::string route;
    std::uint64_t incarnation = 0;
    MonoTime last_message{};
    std::string key;
    RecordMark received;  // highest received or acknowledged
    MonoTime second_began{};
    std::uint64_t in_second = 0;  // records
    std::uint64_t live_in_second = 0, pings_in_second = 0;
    std::uint64_t student_version = 0;  // that was sent
    std::uint64_t version = 0;          // of the wire
    std::uint64_t granted = 0;          // operation of its goodbye or grant; 0: none, or the agent goes on
  };
  struct Seqs {
    std::uint64_t taken = 0, committed = 0;
    MeasuredTime measured{};
  };
  struct History {                        // of a node, beyond its sessions
    std::map<std::uint64_t, Seqs> marks;  // by incarnation
    std::size_t pending = 0;              // records taken and not committed
    std::string cut_route;                // ignored until it says Hello again
    std::vector<MonoTime> takeovers;      // recent ones, from living sessions by equals and rivals
    std::vector<MonoTime> knocks;         // recent Hellos of lower incarnations while a higher one lived
    std::optional<MonoTime> cut_until, conflict_at;
    Duration cut_for{};
    MonoTime welcomed{};
    bool refused_reported = false, knocks_reported = false, folded_reported = false;
  };

  std::vector<wire::Message> refuse(const transport::Incoming& from, std::string subject, std::string what,
                                    std::string fix, transport::Refused reason = transport::Refused::session);
  std::vector<wire::Message> on_hello(const transport::Incoming& from, const wire::Hello& hello);
  std::vector<wire::Message> on_samples(const transport::Incoming& from, Session& session, wire::Samples& samples);
  std::vector<wire::Message> on_live(const transport::Incoming& from, Session& session, wire::Live& live);
  void count_in_second(Session& session, std::size_t records) const;
  // A message whose records are being read.
  struct Reading {
    const transport::Incoming& from;
    std::vector<Record> records;
    bool live = false;
    std::size_t next = 0;
    std::optional<StoreItem> item;  // of the last record, to store once the sink has seen all of it
    bool changed = false;           // that record is not as it was received
  };
  enum class Taken { yes, no, full };
  Taken take_gap(const std::string& node, History& history, const RecordGap& gap);
  void set_taken(History& history, const RecordMark& mark) const;
  Taken take(const std::string& node, History& history, Record& record);
  void keep_item(History& history, Record& record, std::string_view bytes);
  // Takes the next record in its turn; returns a refusal, or nothing.
  std::vector<wire::Message> take_next(Session& session, History& history);
  void show_next(const Session& session, const History& history);
  void leave_rest(Session& session);
  std::optional<StoreGap> gap_before(const std::string& node, const History& history, const RecordMark& mark) const;
  bool fold(const std::string& node, History& history, Record& record);
  std::uint64_t credit(const Session& session) const;
  wire::Ack ack(const std::string& node, Session& session, const RecordMark& mark);
  bool may_send_student();
  std::vector<wire::Message> on_placement(const transport::Incoming& from, const wire::Placement& placement);
  std::vector<wire::Message> on_goodbye(const transport::Incoming& from, Session& session,
                                        const wire::Goodbye& goodbye);
  bool cut_if_alternating(const std::string& node, History& history, bool equals);
  void on_knock(const std::string& node, History& history);
  RecordMark held(const History& history, std::uint64_t incarnation) const;
  void end_session(const std::string& node);

  const Clock& clock_;
  const Log& log_;
  TelemetrySink& sink_;
  transport::RefusalCounts* refusals_;
  LogThrottle reported_{std::chrono::seconds(60)};
  RecordStore* store_;                                 // null: records count as kept once they are taken
  std::unordered_map<std::string, Session> sessions_;  // by node
  MonoTime none_is_silent_before_{};
  std::unordered_map<std::string, History> history_;  // by identity name
  TelemetryFigures figures_;
  Shedding shedding_;
  ClockOffsets clocks_;
  std::vector<std::string_view> record_bytes_;  // of the message that is being read
  std::optional<Reading> reading_;
  std::optional<std::string> rest_;
  MonoTime students_began_{};
  std::uint64_t students_in_second_ = 0;
};

}  // namespace wattle::controller
