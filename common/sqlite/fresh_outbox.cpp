#include "common/sqlite/fresh_outbox.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/wire/codec.hpp"

namespace wattle::sqlite {

Result<std::unique_ptr<FreshOutbox>> FreshOutbox::open_(SpoolOptions options, const Clock& clock) {
  const std::string path = options.path + "-fresh";
  WATTLE_TRY(auto spool, Spool::open_(std::move(options), clock));
  std::unique_ptr<FreshOutbox> outbox(new FreshOutbox(std::move(spool), clock));
  outbox->open_file(path);
  return outbox;
}

FreshOutbox::~FreshOutbox() { move_to_spool(); }

void FreshOutbox::open_file(const std::string& path) {
  auto file = FreshFile::open_(path);
  auto left = file ? file->read() : forward_error(file);
  if (!left) {
    Error trouble = left.error();
    trouble.fix = "each sample is synced to the spool instead";
    news_.push_back(std::move(trouble));
    return;
  }
  file_.emplace(std::move(*file));
  std::erase_if(*left, [this](const EncodedRecord& record) { return record.mark <= spool_->last(); });
  spool_->take(std::move(*left));
}

Status FreshOutbox::push(const Record& record) {
  const RecordMark mark{record.incarnation, record.seq};
  if (!fresh_.empty() && mark <= fresh_.back().mark)
    return fail(Errc::conflict, "record " + std::to_string(mark.seq), "is not behind the newest one");
  if (!file_) return spool_->push(record);
  if (mark <= spool_->last()) return spool_->push(record);  // which names the conflict
  EncodedRecord encoded{mark, wire::encode_record(record), record.part};
  const bool kept = file_->add(encoded);
  fresh_bytes_ += encoded.bytes.size();
  fresh_.push_back(std::move(encoded));
  pushed_at_.push_back(clock_.mono());
  if (!kept) move_to_spool();
  return {};
}

void FreshOutbox::move_to_spool() {
  if (fresh_.empty()) return;
  spool_->take({std::make_move_iterator(fresh_.begin()), std::make_move_iterator(fresh_.end())});
  fresh_.clear();
  pushed_at_.clear();
  fresh_bytes_ = 0;
  // While the disk fails, the records are in the spool's memory only, and here.
  if (file_ && spool_->values().durable) file_->release(spool_->last());
}

Result<std::vector<EncodedRecord>> FreshOutbox::peek_after(const RecordMark& mark, std::size_t count) {
  WATTLE_TRY(auto records, spool_->peek_after(mark, count));
  const bool older_wait = spool_->size() > 0 && spool_->last() > mark;
  if (!records.empty() || older_wait) return records;
  const auto first = std::upper_bound(fresh_.begin(), fresh_.end(), mark,
                                      [](const RecordMark& at, const auto& record) { return at < record.mark; });
  for (auto at = first; at != fresh_.end() && records.size() < count; ++at) {
    if (at->mark.incarnation != first->mark.incarnation) break;
    records.push_back(*at);
  }
  return records;
}

Status FreshOutbox::ack(const RecordMark& mark) {
  WATTLE_CHECK(spool_->ack(mark));
  while (!fresh_.empty() && fresh_.front().mark <= mark) {
    fresh_bytes_ -= fresh_.front().bytes.size();
    fresh_.pop_front();
    pushed_at_.pop_front();
  }
  if (file_) file_->release(mark);
  return {};
}

void FreshOutbox::maintain() {
  if (!pushed_at_.empty() && clock_.mono() - pushed_at_.front() >= kFreshFor) move_to_spool();
  spool_->maintain();
}

Duration FreshOutbox::patience() const {
  if (pushed_at_.empty()) return spool_->patience();
  return std::min(spool_->patience(), std::max(Duration{0}, pushed_at_.front() + kFreshFor - clock_.mono()));
}

SpoolValues FreshOutbox::values() const {
  SpoolValues values = spool_->values();
  values.records += fresh_.size();
  values.bytes += fresh_bytes_;
  return values;
}

std::vector<Error> FreshOutbox::news() {
  std::vector<Error> all = std::exchange(news_, {});
  for (Error& error : spool_->news()) all.push_back(std::move(error));
  return all;
}

}  // namespace wattle::sqlite
