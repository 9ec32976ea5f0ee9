// spool: an Outbox on disk. What it hands out has been written and synced; what it lost, it counted.
// Commits  what is pushed waits in memory and is written by one transaction per `commit_every`; what was acknowledged is
//          deleted by a later one
// Bound    when the records would take more than max_bytes, the oldest that were never handed out are dropped, a segment
//          (1/32 of the bound) at a time, and their number is kept as a gap. What was handed out may be on its way and is
//          kept until it is acknowledged (at most memory_bytes / 2), so that a dropped record is one that was never sent
// Trouble  a damaged file is moved aside (<path>.damaged) and a new one begun. While the disk refuses (full, broken),
//          records wait in memory, at most memory_bytes; they are handed out from there, since a node that nobody sees is
//          worse than a record that a crash may take; the disk is tried again every 5 s. Both are news()
// Lost     <path>-open is there from the first commit of a process to its orderly end: with it, but without the log that SQLite
//          keeps until then, or with a file of no bytes, what was committed last is gone, and that is news()
// Errors   open_: denied, conflict (another process has the file), unsupported (a newer schema)
// Threads  single owner; commits block for as long as the disk takes to sync
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
  Duration commit_every = std::chrono::milliseconds(900);  // a tick of a second is never held over to the next
  DatabaseOptions database;
};

struct SpoolValues {
  bool durable = true;              // false: the disk refuses, records wait in memory
  std::uint64_t records = 0;        // not acknowledged
  std::uint64_t bytes = 0;          // of them
  std::uint64_t dropped = 0;        // records lost since the start of the process, for want of room or by damage
  std::uint64_t gap_records = 0;    // of which the controller has not yet been told newer ones; outlives the process
  std::uint64_t commits = 0;        // since the start of the process
  std::uint64_t written_bytes = 0;  // to the file and its log, at most
};

class Spool final : public Outbox {
 public:
  static Result<std::unique_ptr<Spool>> open_(SpoolOptions options, const Clock& clock);
  ~Spool() override;  // writes what waits

  Status push(const Record& record) override;
  Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) override;
  Status ack(const RecordMark& mark) override;
  std::vector<RecordGap> gaps_before(std::uint64_t incarnation, const RecordMark& mark) const override;
  std::vector<EncodedRecord> newest() const override {
    return trouble_ && !waiting_.empty() ? newest_interval(waiting_) : newest_interval(recent_);
  }
  std::size_t size() const override { return stored_.size() + waiting_.size(); }
  std::uint64_t dropped() const override { return dropped_; }

  // Writes what is due, and tries a disk that refused again. Call before the session is pumped, and when patience() is
  // over.
  void maintain();
  Duration patience() const;
  RecordMark last() const { return last_; }
  const std::vector<Gap>& gaps() const { return gaps_; }
  SpoolValues values() const;
  // Gives the space of its log back to the disk; up to some megabytes, when the process before was killed.
  Status empty_log();
  // What people should know and were not told yet, oldest first.
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
  std::deque<EncodedRecord> recent_;    // the last of stored_, in memory
  std::vector<EncodedRecord> waiting_;  // not written yet
  std::uint64_t stored_cost_ = 0, recent_bytes_ = 0, waiting_bytes_ = 0;
  RecordMark last_, acked_, handed_out_;
  std::vector<std::pair<std::int64_t, std::int64_t>> remove_;  // rows that the next commit deletes
  std::uint64_t removable_ = 0, removable_cost_ = 0;
  bool remove_now_ = false;  // rows that are counted as lost go with the gap that counts them
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
  std::uint64_t pages_counted_ = 0, pages_at_checkpoint_ = 0;  // of the table that is open
};

}  // namespace wattle::sqlite
