// Output of the spool: hands out records, removes acknowledged ones, and reports figures.
#include <algorithm>
#include <utility>

#include "common/sqlite/spool.hpp"

namespace wattle::sqlite {

namespace {
constexpr std::size_t kReadBytes = 1 << 20;
}  // namespace

Result<std::vector<EncodedRecord>> Spool::peek_after(const RecordMark& mark, std::size_t count) {
  std::vector<EncodedRecord> out;
  const std::size_t first = first_behind(mark);
  const auto later =
      std::upper_bound(waiting_.begin(), waiting_.end(), mark,
                       [](const RecordMark& at, const EncodedRecord& record) { return at < record.mark; });
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < first; ++at) bytes += stored_[at].bytes;
  for (auto at = waiting_.begin(); at != later; ++at) bytes += at->bytes.size();
  const auto fits = [&](const RecordMark& next, std::uint64_t more, std::size_t so_far) {
    const RecordMark& begin = first < stored_.size() ? stored_[first].mark : later->mark;
    return so_far < count && next.incarnation == begin.incarnation &&
           (bytes == 0 || bytes + more <= options_.memory_bytes / 2);
  };
  std::size_t end = first;
  while (end < stored_.size() && fits(stored_[end].mark, stored_[end].bytes, end - first))
    bytes += stored_[end++].bytes;
  const bool all_stored = end == stored_.size();
  if (!read_stored(first, end, out)) return std::vector<EncodedRecord>{};
  if (trouble_ && all_stored)
    for (auto at = later; at != waiting_.end() && fits(at->mark, at->bytes.size(), out.size()); ++at) {
      bytes += at->bytes.size();
      out.push_back(*at);
    }
  if (!out.empty()) handed_out_ = std::max(handed_out_, out.back().mark);
  return out;
}

// Returns false if the disk failed; later records must not overtake those on disk.
bool Spool::read_stored(std::size_t first, std::size_t end, std::vector<EncodedRecord>& out) {
  const std::size_t in_memory = stored_.size() - recent_.size();
  const std::size_t read_end = std::min(end, in_memory);
  if (first < read_end) {
    if (!table_) return false;
    bool whole = false;
    auto bodies = table_->read(stored_[first].id, stored_[read_end - 1].id, kReadBytes, whole);
    if (!bodies) {
      refuse(bodies.error());
      return false;
    }
    auto body = bodies->begin();
    std::vector<RecordMark> damaged;
    for (std::size_t at = first; at < read_end; ++at) {
      while (body != bodies->end() && body->id < stored_[at].id) ++body;
      if (body == bodies->end() && !whole) {
        end = at;
        break;
      }
      if (body != bodies->end() && body->id == stored_[at].id && !body->bytes.empty())
        out.push_back({stored_[at].mark, std::move(body->bytes)});
      else
        damaged.push_back(stored_[at].mark);
    }
    for (std::size_t at = std::max(first, in_memory); at < end; ++at) out.push_back(recent_[at - in_memory]);
    drop_damaged(damaged);
    return true;
  }
  for (std::size_t at = first; at < end; ++at) out.push_back(recent_[at - in_memory]);
  return true;
}

void Spool::drop_damaged(const std::vector<RecordMark>& damaged) {
  if (damaged.empty()) return;
  for (const RecordMark& mark : damaged) {
    const auto at = stored_.begin() + static_cast<std::ptrdiff_t>(first_behind(mark)) - 1;
    stored_cost_ -= cost(at->bytes);
    mark_removable(*at);
    count_lost(mark);
    stored_.erase(at);
  }
  remove_now_ = true;
  news_.push_back({Errc::malformed, options_.path, std::to_string(damaged.size()) + " records are damaged and lost",
                   "check the disk (dmesg)"});
}

std::vector<RecordGap> Spool::gaps_before(std::uint64_t incarnation, const RecordMark& mark) const {
  std::vector<RecordGap> found;
  for (const Gap& gap : gaps_)
    if (gap.incarnation < incarnation && RecordMark{gap.incarnation, gap.last_seq} > mark)
      found.push_back({gap.incarnation, gap.first_seq, gap.last_seq});
  return found;
}

Status Spool::ack(const RecordMark& mark) {
  acked_ = std::max(acked_, mark);
  while (!stored_.empty() && stored_.front().mark <= mark) {
    stored_cost_ -= cost(stored_.front().bytes);
    mark_removable(stored_.front());
    stored_.pop_front();
  }
  while (recent_.size() > stored_.size()) forget_recent();
  while (!waiting_.empty() && waiting_.front().mark <= mark) {
    waiting_bytes_ -= waiting_.front().bytes.size();
    waiting_.erase(waiting_.begin());
  }
  const auto reported = std::remove_if(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
    return RecordMark{gap.incarnation, gap.last_seq} <= mark;
  });
  gaps_changed_ = gaps_changed_ || reported != gaps_.end();
  gaps_.erase(reported, gaps_.end());
  return {};
}

SpoolValues Spool::values() const {
  SpoolValues values;
  values.durable = !trouble_;
  values.records = size();
  values.bytes = stored_cost_ + waiting_bytes_;
  values.dropped = dropped_;
  for (const Gap& gap : gaps_) values.gap_records += gap.records;
  values.commits = commits_;
  values.written_bytes = written_bytes_;
  return values;
}

std::size_t Spool::first_behind(const RecordMark& mark) const {
  const auto at =
      std::upper_bound(stored_.begin(), stored_.end(), mark,
                       [](const RecordMark& wanted, const StoredRecord& record) { return wanted < record.mark; });
  return static_cast<std::size_t>(at - stored_.begin());
}

}  // namespace wattle::sqlite
