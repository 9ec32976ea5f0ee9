#include "common/transport/sleep_hold.hpp"

#include <algorithm>
#include <limits>

namespace wattle::transport {

void SleepHold::begin(const Outbox& outbox, const RecordMark& sent) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const std::vector<EncodedRecord> newest = outbox.newest();
  if (!newest.empty())
    last_ = std::max(sent, newest.back().mark);
  else  // an outbox that has records, but no whole interval, is emptied
    last_ = outbox.size() == 0 ? sent : RecordMark{kAll, kAll};
}

void SleepHold::reset() {
  order_.reset();
  last_.reset();
}

bool SleepHold::all_sent(const Outbox& outbox, const RecordMark& sent) const {
  return last_ && (sent >= *last_ || outbox.size() == 0);
}

void SleepHold::filter(std::vector<EncodedRecord>& records) const {
  if (last_) std::erase_if(records, [&](const EncodedRecord& record) { return record.mark > *last_; });
}

}  // namespace wattle::transport
