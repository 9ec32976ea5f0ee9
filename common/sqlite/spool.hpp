// spool: an Outbox on disk. Returns only records that were written and synced, and counts lost ones.
// Commits  pushed records wait in memory and are written by one transaction per `commit_every`; a later one deletes
//          acknowledged records
// Bound    if the records would exceed max_bytes, the oldest that were never handed out are dropped, a segment (1/32 of
//          the bound) at a time, and their number is kept as a gap. Records that were handed out may be in flight and
//          are kept until acknowledged (at most memory_bytes / 2), so that a dropped record was never sent
// Trouble  a damaged file is moved aside (<path>.damaged), and a new one gets its readable records. While the disk
//          fails (full, broken), records wait in memory, at most memory_bytes, and are handed out from there: a node
//          without telemetry is worse than a record that a crash may lose. The disk is tried again every 5 s. Both
//          appear in news()
// Lost     <path>-open exists from the first commit of a process to its orderly end. If it exists, but SQLite's log
//          (kept until then) does not, or the file is empty, the last commits are lost; news() reports this
// Errors   open_: denied, conflict (another process has the file), unsupported (a newer schema)
// Threads  single owner; a commit blocks until the disk has synced
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/outbox.hpp"
#include "common/sqlite/record_table.hpp"

namespace wattle::sqlite {

struct SpoolOptions {
  std::string path;  // "/var/lib/wattle/spool.db"
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  std::uint64_t memory_bytes = std::uint64_t{4} << 20;
  Duration commit_every = std::chrono::milliseconds(900);  // so that no tick of one second waits for the next
  DatabaseOptions database;
};

struct SpoolValues {
  bool durable = true;              // false: the disk fails and records wait in memory
  std::uint64_t records = 0;        // not acknowledged
  std::uint64_t bytes = 0;          // size of these records
  std::uint64_t dropped = 0;        // records lost since the process started, for lack of room or by damage
  std::uint64_t gap_records = 0;    // lost, and no newer record has been acknowledged yet; survives restarts
  std::uint64_t commits = 0;        // since the process started
  std::uint64_t written_bytes = 0;  // upper bound; to the file and its log
};

class Spool final : public Outbox {
 public:
  static Result<std::unique_ptr<Spool>> open_(SpoolOptions options, const Clock& clock);
  ~Spool() override;  // writes the pending records

  Status push(const Record& record) override;
  // Like push(), for ascending records after last(), and commits them at once.
  void take(std::vector<EncodedRecord> records);
  Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) override;
  Status ack(const RecordMark& mark) override;
  std::vector<RecordGap> gaps_before(std::uint64_t incarnation, const RecordMark& mark) const override;
  std::vector<EncodedRecord> newest() const override {
    return trouble_ && !waiting_.empty() ? newest_interval(waiting_) : newest_interval(recent_);
  }
  std::size_t size() const override { return stored_.size() + waiting_.size(); }
  std::uint64_t dropped() const override { return dropped_; }

  // Writes what is due, and tries a failed disk again. Call before pumping the session, and when patience() has
  // elapsed.
  void maintain();
  Duration patience() const;
  RecordMark last() const { return last_; }
  const std::vector<Gap>& gaps() const { return gaps_; }
  SpoolValues values() const;
  // Truncates the log, which may have some megabytes if the previous process was killed.
  Status empty_log();
  // Returns events to log that were not returned before, oldest first.
  std::vector<Error> news();

 private:
  Spool(SpoolOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  Status open_table();
  void look_for_loss();
  Status move_aside(const Error& why);
  void adopt(std::deque<StoredRecord> found, std::vector<Gap> gaps);
  bool due() const;
  void commit();
  void make_room();
  void drop_waiting(std::uint64_t until_bytes);
  void drop_damaged(const std::vector<RecordMark>& damaged);
  void mark_removable(const StoredRecord& record);
  void forget_recent();
  void count_lost(const RecordMark& mark);
  void checkpoint_if_long();
  void refuse(const Error& error);
  void retry();
  void give_up_stored();
  bool read_stored(std::size_t first, std::size_t end, std::vector<EncodedRecord>& out);
  std::size_t first_behind(const RecordMark& mark) const;
  std::uint64_t cost(std::uint64_t bytes) const;
  std::uint64_t cost_of_waiting() const;

  SpoolOptions options_;
  const Clock& clock_;
  std::optional<RecordTable> table_;

  std::deque<StoredRecord> stored_;     // not acknowledged, ascending
  std::deque<EncodedRecord> recent_;    // newest part of stored_, in memory
  std::vector<EncodedRecord> waiting_;  // not written yet
  std::uint64_t stored_cost_ = 0, recent_bytes_ = 0, waiting_bytes_ = 0;
  RecordMark last_, acked_, handed_out_;
  std::vector<std::pair<std::int64_t, std::int64_t>> remove_;  // rows that the next commit deletes
  std::uint64_t removable_ = 0, removable_cost_ = 0;
  bool remove_now_ = false;  // delete rows that count as lost in the same commit as the gap that counts them
  std::int64_t next_id_ = 1;
  std::vector<Gap> gaps_;
  bool gaps_changed_ = false;

  bool opened_once_ = false, marked_open_ = false;
  MonoTime committed_at_{};
  std::optional<Error> trouble_;
  MonoTime retry_at_{};
  int failed_opens_ = 0;
  std::vector<Error> news_;
  std::uint64_t dropped_ = 0, commits_ = 0, written_bytes_ = 0;
  std::uint64_t pages_counted_ = 0, pages_at_checkpoint_ = 0;  // for the open table
};

}  // namespace wattle::sqlite
