// outbox: where an agent's records wait until the controller has acknowledged them.
// Gives    encoded records in order of (incarnation, seq); peek does not remove, ack does
// Bytes    a record is encoded once, when it is pushed, and goes out as it was stored (wire::encode_samples)
// Threads  single owner
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/sample.hpp"

namespace wattle {

// Position of a record.
struct RecordMark {
  std::uint64_t incarnation = 0;
  std::uint64_t seq = 0;
  auto operator<=>(const RecordMark&) const = default;
};

struct EncodedRecord {
  RecordMark mark;
  std::string bytes;
  std::uint64_t part = 0;  // of its interval; 0 where that was not kept
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual Status push(const Record& record) = 0;
  // Up to `count` records of one incarnation from the oldest that is behind the mark. Who takes them may send them.
  virtual Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) = 0;
  // Forgets everything up to and including the mark.
  virtual Status ack(const RecordMark& mark) = 0;
  // What was lost of incarnations before this one, behind the mark: no later number tells of it.
  virtual std::vector<RecordGap> gaps_before(std::uint64_t incarnation, const RecordMark& mark) const {
    static_cast<void>(incarnation);
    static_cast<void>(mark);
    return {};
  }
  // The records of the newest interval, as far as they may be sent; none if its first part is not at hand.
  virtual std::vector<EncodedRecord> newest() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t dropped() const = 0;  // lost because the bound was reached
};

// The last interval of records that were pushed in order.
template <class Records>
std::vector<EncodedRecord> newest_interval(const Records& records) {
  if (records.empty() || records.back().part >= records.size()) return {};
  const auto parts = static_cast<std::ptrdiff_t>(records.back().part) + 1;
  if (std::prev(records.end(), parts)->part != 0) return {};
  return {std::prev(records.end(), parts), records.end()};
}

}  // namespace wattle
