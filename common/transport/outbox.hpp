// outbox: an in-memory Outbox, for the swarm and for agents without a spool.
// Threads  single owner
#pragma once

#include <deque>

#include "common/outbox.hpp"

namespace wattle::transport {

// Keeps at most `capacity` records; drops the oldest first.
class MemoryOutbox final : public Outbox {
 public:
  explicit MemoryOutbox(std::size_t capacity) : capacity_(capacity) {}
  Status push(const Record& record) override;
  Result<std::vector<EncodedRecord>> peek_after(const RecordMark& mark, std::size_t count) override;
  Status ack(const RecordMark& mark) override;
  std::vector<EncodedRecord> newest() const override { return newest_interval(records_); }
  std::size_t size() const override { return records_.size(); }
  std::uint64_t dropped() const override { return dropped_; }

 private:
  std::size_t capacity_;
  std::uint64_t dropped_ = 0;
  std::deque<EncodedRecord> records_;
};

}  // namespace wattle::transport
