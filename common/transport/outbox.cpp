#include "common/transport/outbox.hpp"

#include <algorithm>
#include <utility>

namespace wattle::transport {

namespace {
std::pair<std::uint64_t, std::uint64_t> mark(const Record& record) { return {record.incarnation, record.seq}; }

auto first_behind(std::deque<Record>& records, std::uint64_t incarnation, std::uint64_t seq) {
  return std::upper_bound(records.begin(), records.end(), std::pair(incarnation, seq),
                          [](const auto& at, const Record& record) { return at < mark(record); });
}
}  // namespace

Status MemoryOutbox::push(Record record) {
  if (!records_.empty() && mark(record) <= mark(records_.back()))
    return fail(Errc::conflict, "outbox",
                "record " + std::to_string(record.incarnation) + ":" + std::to_string(record.seq) + " is not behind " +
                    std::to_string(records_.back().incarnation) + ":" + std::to_string(records_.back().seq));
  records_.push_back(std::move(record));
  while (records_.size() > capacity_) {
    records_.pop_front();
    ++dropped_;
  }
  return {};
}

Result<std::vector<Record>> MemoryOutbox::peek_after(std::uint64_t incarnation, std::uint64_t seq, std::size_t count) {
  std::vector<Record> found;
  for (auto at = first_behind(records_, incarnation, seq); at != records_.end() && found.size() < count; ++at) {
    if (!found.empty() && found.front().incarnation != at->incarnation) break;
    found.push_back(*at);
  }
  return found;
}

Status MemoryOutbox::ack(std::uint64_t incarnation, std::uint64_t seq) {
  records_.erase(records_.begin(), first_behind(records_, incarnation, seq));
  return {};
}

}  // namespace wattle::transport
