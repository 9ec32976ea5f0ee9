// outbox: where an agent's records wait until the controller has acknowledged them.
// Gives    in order of (incarnation, seq); peek does not remove, ack does
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/result.hpp"
#include "common/sample.hpp"

namespace wattle::transport {

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual Status push(Record record) = 0;
  // Up to `count` records of one incarnation from the oldest that is behind (incarnation, seq).
  virtual Result<std::vector<Record>> peek_after(std::uint64_t incarnation, std::uint64_t seq, std::size_t count) = 0;
  // Forgets everything up to and including (incarnation, seq).
  virtual Status ack(std::uint64_t incarnation, std::uint64_t seq) = 0;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t dropped() const = 0;  // lost because the bound was reached
};

// Keeps at most `capacity` records; the oldest go first.
class MemoryOutbox final : public Outbox {
 public:
  explicit MemoryOutbox(std::size_t capacity) : capacity_(capacity) {}
  Status push(Record record) override;
  Result<std::vector<Record>> peek_after(std::uint64_t incarnation, std::uint64_t seq, std::size_t count) override;
  Status ack(std::uint64_t incarnation, std::uint64_t seq) override;
  std::size_t size() const override { return records_.size(); }
  std::uint64_t dropped() const override { return dropped_; }

 private:
  std::size_t capacity_;
  std::uint64_t dropped_ = 0;
  std::deque<Record> records_;
};

}  // namespace wattle::transport
