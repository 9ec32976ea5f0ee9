// fresh_outbox: an agent's outbox: new records are in a FreshFile, and those that are not acknowledged soon in a Spool.
// Durable  a record survives the end of the process after push(), and a power failure after `kFreshFor`. Records that
//          are acknowledged sooner are never synced to the disk
// Trouble  without a FreshFile each record goes to the spool at once, which syncs it before it is sent
// Errors   open_: as the spool
// Threads  single owner; maintain() blocks when it moves records
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/outbox.hpp"
#include "common/sqlite/fresh_file.hpp"
#include "common/sqlite/spool.hpp"

namespace wattle::sqlite {

// Age at which a record without acknowledgement moves to the spool.
inline constexpr Duration kFreshFor = std::chrono::seconds(10);

class FreshOutbox final : public Outbox {
 public:
  // The file is <path of the spool>-fresh. Moves records that the previous process left in it to the spool.
  static Result<std::unique_ptr<FreshOutbox>> open_(SpoolOptions options, const Clock& clock);
  ~FreshOutbox() override;  // moves everything to the spool

  Status push(const Record& record) override;
  Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) override;
  Status ack(const RecordMark& mark) override;
  std::vector<RecordGap> gaps_before(std::uint64_t incarnation, const RecordMark& mark) const override {
    return spool_->gaps_before(incarnation, mark);
  }
  std::vector<EncodedRecord> newest() const override {
    return fresh_.empty() ? spool_->newest() : newest_interval(fresh_);
  }
  std::size_t size() const override { return spool_->size() + fresh_.size(); }
  std::uint64_t dropped() const override { return spool_->dropped(); }

  // See Spool.
  void maintain();
  Duration patience() const;
  RecordMark last() const { return fresh_.empty() ? spool_->last() : fresh_.back().mark; }
  SpoolValues values() const;
  Status empty_log() { return spool_->empty_log(); }
  std::vector<Error> news();

 private:
  FreshOutbox(std::unique_ptr<Spool> spool, const Clock& clock) : spool_(std::move(spool)), clock_(clock) {}
  void open_file(const std::string& path);
  void move_to_spool();

  std::unique_ptr<Spool> spool_;
  const Clock& clock_;
  std::optional<FreshFile> file_;
  std::deque<EncodedRecord> fresh_;  // not acknowledged and not in the spool, ascending
  std::deque<MonoTime> pushed_at_;   // of each of them
  std::uint64_t fresh_bytes_ = 0;
  std::vector<Error> news_;
};

}  // namespace wattle::sqlite
