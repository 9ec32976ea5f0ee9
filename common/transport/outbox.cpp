#include "common/transport/outbox.hpp"

#include <algorithm>

#include "common/wire/codec.hpp"

namespace wattle::transport {

namespace {
auto first_behind(std::deque<EncodedRecord>& records, const RecordMark& mark) {
  return std::upper_bound(records.begin(), records.end(), mark,
                          [](const RecordMark& at, const EncodedRecord& record) { return at < record.mark; });
}
}  // namespace

Status MemoryOutbox::push(const Record& record) {
  const RecordMark mark{record.incarnation, record.seq};
  if (!records_.empty() && mark <= records_.back().mark)
    return fail(Errc::conflict, "outbox",
                "record " + std::to_string(mark.incarnation) + ":" + std::to_string(mark.seq) + " is not behind " +
                    std::to_string(records_.back().mark.incarnation) + ":" + std::to_string(records_.back().mark.seq));
  records_.push_back({mark, wire::encode_record(record), record.part});
  while (records_.size() > capacity_) {
    records_.pop_front();
    ++dropped_;
  }
  return {};
}

Result<std::vector<EncodedRecord>> MemoryOutbox::peek_after(const RecordMark& mark, std::size_t count) {
  std::vector<EncodedRecord> found;
  for (auto at = first_behind(records_, mark); at != records_.end() && found.size() < count; ++at) {
    if (!found.empty() && found.front().mark.incarnation != at->mark.incarnation) break;
    found.push_back(*at);
  }
  return found;
}

Status MemoryOutbox::ack(const RecordMark& mark) {
  records_.erase(records_.begin(), first_behind(records_, mark));
  return {};
}

}  // namespace wattle::transport
