// record_reader: passes the records of a message to the sink and the store in order, each once; shows live records
// ahead of their turn.
// Source   records of one message at a time, and the gaps that its agent reports
// Units    numbers of records; times are the controller's monotonic clock
// Errors   a complaint that ends the session; records out of range are counted, and logged once for a session
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/sockets.hpp"
#include "controller/ingest/telemetry_sink.hpp"
#include "controller/ingest/validate.hpp"
#include "controller/store/record_store.hpp"

namespace wattle::controller {

// Most unacknowledged records of a session.
inline constexpr std::uint64_t kCredit = 256;
// Limit of a node's uncommitted records: its credit, and that of its last session.
inline constexpr std::size_t kMaxPending = 2 * kCredit;
// Limit of incarnations and numbers: a store holds them signed.
inline constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;

struct Session {
  std::string route;
  std::uint64_t incarnation = 0;
  MonoTime last_message{};
  std::string key;
  RecordMark received;  // highest received or acknowledged
  MonoTime second_began{};
  std::uint64_t in_second = 0;  // records
  std::uint64_t live_in_second = 0, pings_in_second = 0;
  std::uint64_t student_version = 0;  // last version sent
  std::uint64_t version = 0;          // of the wire
  std::uint64_t granted = 0;          // operation of its goodbye or grant; 0: none, or the agent continues
};
struct Seqs {
  std::uint64_t taken = 0, committed = 0;
  MeasuredTime measured{};
};
// State of a node beyond its sessions.
struct NodeHistory {
  std::map<std::uint64_t, Seqs> marks;  // by incarnation
  std::size_t pending = 0;              // records taken but not committed
  std::string cut_route;                // ignored until its next Hello
  MonoTime welcomed{};
  bool refused_reported = false, folded_reported = false;
};

struct TelemetryFigures {
  std::uint64_t records = 0;     // accepted
  std::uint64_t duplicates = 0;  // accepted before
  std::uint64_t refused = 0;     // out of range
  std::uint64_t missing = 0;     // numbers that were skipped
};

class RecordReader {
 public:
  struct Complaint {
    const char *what, *fix;
  };
  // `store` null: records count as kept once they are taken.
  RecordReader(const Log& log, TelemetrySink& sink, RecordStore* store, TelemetryFigures& figures)
      : log_(log), sink_(sink), store_(store), figures_(figures) {}
  // Records the gaps that the agent reports, as far as later numbers have not shown them.
  std::optional<Complaint> take_gaps(const std::string& node, const Session& session, NodeHistory& history,
                                     const std::vector<RecordGap>& gaps);
  // Begins a message; `from` must outlive its reading, and bytes() has the bytes of its records.
  void begin(const transport::Incoming& from, std::vector<Record> records, bool live);
  std::vector<std::string_view>& bytes() { return bytes_; }
  // Reads until the message ends or the sink pauses.
  std::optional<Complaint> read_on(Session& session, NodeHistory& history);
  bool reads() const { return reading_.has_value(); }
  const transport::Incoming& from() const { return reading_->from; }
  bool live() const { return reading_->live; }
  // Takes the unread records of the last message as a separate message.
  std::optional<std::string> take_rest() { return std::exchange(rest_, std::nullopt); }

 private:
  // A message whose records are being read.
  struct Reading {
    const transport::Incoming& from;
    std::vector<Record> records;
    bool live = false;
    std::size_t next = 0;
    std::optional<StoreItem> item;  // of the last record, to store once the sink has seen all of it
    bool changed = false;           // the sink has changed that record
  };
  enum class Taken { yes, no, full };
  Taken take_gap(const std::string& node, NodeHistory& history, const RecordGap& gap);
  void set_taken(NodeHistory& history, const RecordMark& mark) const;
  // `current`: the session's incarnation. Its records are new even if the clock was set back before the agent started.
  Taken take(const std::string& node, NodeHistory& history, Record& record, std::uint64_t current);
  void keep_item(NodeHistory& history, Record& record, std::string_view bytes);
  // Takes the next record in order.
  std::optional<Complaint> take_next(Session& session, NodeHistory& history);
  void show_next(const Session& session, const NodeHistory& history);
  void leave_rest(Session& session);
  bool fold(const std::string& node, NodeHistory& history, Record& record);

  const Log& log_;
  TelemetrySink& sink_;
  RecordStore* store_;
  TelemetryFigures& figures_;
  std::vector<std::string_view> bytes_;
  std::optional<Reading> reading_;
  std::optional<std::string> rest_;
};

}  // namespace wattle::controller
