// outbox: keeps an agent's records until the controller has acknowledged them.
// Gives    encoded records in order of (incarnation, seq); peek keeps them, ack removes them
// Bytes    a record is encoded once, when it is pushed, and sent as stored (wire::encode_samples)
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
  std::uint64_t part = 0;  // part of its interval; 0 if unknown
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual Status push(const Record& record) = 0;
  // Returns up to `count` records of one incarnation, starting with the oldest after the mark. The caller may send
  // them.
  virtual Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) = 0;
  // Removes all records up to and including the mark.
  virtual Status ack(const RecordMark& mark) = 0;
  // Gaps in incarnations before this one, after the mark. No later sequence number reveals them.
  virtual std::vector<RecordGap> gaps_before(std::uint64_t incarnation, const RecordMark& mark) const {
    static_cast<void>(incarnation);
    static_cast<void>(mark);
    return {};
  }
  // Records of the newest interval that may be sent; none if its first part is missing.
  virtual std::vector<EncodedRecord> newest() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t dropped() const = 0;  // lost because of the size limit
};

// Returns the last interval of records that were pushed in order.
template <class Records>
std::vector<EncodedRecord> newest_interval(const Records& records) {
  if (records.empty() || records.back().part >= records.size()) return {};
  const auto parts = static_cast<std::ptrdiff_t>(records.back().part) + 1;
  if (std::prev(records.end(), parts)->part != 0) return {};
  return {std::prev(records.end(), parts), records.end()};
}

}  // namespace wattle
