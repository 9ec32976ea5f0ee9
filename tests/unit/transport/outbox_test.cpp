#include "common/transport/outbox.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::transport;

namespace {
Record numbered(std::uint64_t incarnation, std::uint64_t seq) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  return record;
}

std::vector<std::uint64_t> seqs(const Result<std::vector<EncodedRecord>>& records) {
  std::vector<std::uint64_t> found;
  for (const EncodedRecord& record : records.value()) found.push_back(record.mark.seq);
  return found;
}
using Seqs = std::vector<std::uint64_t>;
}  // namespace

TEST_CASE("peek returns one incarnation in order and removes nothing") {
  MemoryOutbox outbox(100);
  for (const auto& record : {numbered(1, 8), numbered(1, 9), numbered(2, 1), numbered(2, 2), numbered(2, 3)})
    REQUIRE(outbox.push(record));
  CHECK(seqs(outbox.peek_after({0, 0}, 10)) == Seqs{8, 9});
  CHECK(seqs(outbox.peek_after({1, 8}, 10)) == Seqs{9});
  CHECK(seqs(outbox.peek_after({1, 9}, 2)) == Seqs{1, 2});
  CHECK(seqs(outbox.peek_after({2, 3}, 10)).empty());
  CHECK(outbox.size() == 5);
}

TEST_CASE("an ack removes records up to and including its position") {
  MemoryOutbox outbox(100);
  for (const auto& record : {numbered(1, 8), numbered(1, 9), numbered(2, 1), numbered(2, 2)})
    REQUIRE(outbox.push(record));
  REQUIRE(outbox.ack({2, 1}));
  CHECK(outbox.size() == 1);
  CHECK(seqs(outbox.peek_after({0, 0}, 10)) == Seqs{2});
  REQUIRE(outbox.ack({1, 100}));
  CHECK(outbox.size() == 1);
}

TEST_CASE("a full outbox drops the oldest and counts them") {
  MemoryOutbox outbox(3);
  for (std::uint64_t seq = 1; seq <= 5; ++seq) REQUIRE(outbox.push(numbered(1, seq)));
  CHECK(outbox.size() == 3);
  CHECK(outbox.dropped() == 2);
  CHECK(seqs(outbox.peek_after({0, 0}, 10)) == Seqs{3, 4, 5});
}

TEST_CASE("a record that does not follow the last is refused") {
  MemoryOutbox outbox(3);
  REQUIRE(outbox.push(numbered(2, 5)));
  CHECK(outbox.push(numbered(2, 5)).error().code == Errc::conflict);
  CHECK(outbox.push(numbered(1, 9)).error().code == Errc::conflict);
  CHECK(outbox.push(numbered(3, 1)));
}

TEST_CASE("the newest interval is returned with all its parts, or not at all") {
  MemoryOutbox outbox(3);
  CHECK(outbox.newest().empty());
  const auto push = [&](std::uint64_t seq, std::uint64_t part) {
    Record record = numbered(1, seq);
    record.part = part;
    record.parts = 4;
    REQUIRE(outbox.push(record));
  };
  push(1, 0);
  CHECK(seqs(outbox.newest()) == Seqs{1});
  push(2, 0);
  push(3, 1);
  CHECK(seqs(outbox.newest()) == Seqs{2, 3});
  push(4, 2);
  CHECK(seqs(outbox.newest()) == Seqs{2, 3, 4});
  push(5, 3);  // the first part was lost
  CHECK(outbox.newest().empty());
}
