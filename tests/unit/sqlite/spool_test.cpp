#include "common/sqlite/spool.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/wire/codec.hpp"
#include "tests/places.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::sqlite;
using namespace std::chrono_literals;

namespace {
using Seqs = std::vector<std::uint64_t>;

Record at(std::uint64_t incarnation, std::uint64_t seq, std::size_t bytes = 0) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  if (bytes > 0) record.probes.push_back({std::string(bytes, 'x'), {}, {}, {}, 0, 0});
  return record;
}

Seqs seqs(const Result<std::vector<EncodedRecord>>& records) {
  Seqs found;
  for (const EncodedRecord& record : records.value()) found.push_back(record.mark.seq);
  return found;
}

Seqs range(std::uint64_t first, std::uint64_t last) {
  Seqs all;
  for (std::uint64_t seq = first; seq <= last; ++seq) all.push_back(seq);
  return all;
}

struct Rig {
  test::TempDir dir;
  ManualClock clock{mono_from_ns(1'000'000'000)};
  SpoolOptions options;
  std::unique_ptr<Spool> spool;

  Rig() {
    options.path = dir.file("spool.db");
    open();
  }
  void open() {
    spool.reset();
    auto opened = Spool::open_(options, clock);
    REQUIRE(opened);
    spool = std::move(*opened);
  }
  // One record a second, as an agent pushes them.
  void fill(std::uint64_t first, std::uint64_t last, std::uint64_t incarnation = 1, std::size_t bytes = 0) {
    for (std::uint64_t seq = first; seq <= last; ++seq) {
      clock.advance(1s);
      REQUIRE(spool->push(at(incarnation, seq, bytes)));
    }
  }
  // Reads as the session does: everything after the mark, in batches.
  Seqs drain(RecordMark mark = {}) {
    Seqs all;
    for (;;) {
      const auto batch = spool->peek_after(mark, 64);
      REQUIRE(batch);
      if (batch->empty()) return all;
      for (const EncodedRecord& record : *batch) all.push_back(record.mark.seq);
      mark = batch->back().mark;
      REQUIRE(spool->ack(mark));
    }
  }
};
}  // namespace

TEST_CASE("a spool returns one incarnation in order, byte for byte, and removes only acknowledged records") {
  Rig rig;
  rig.fill(8, 9, 1);
  rig.fill(1, 3, 2);
  const auto first = rig.spool->peek_after({}, 10);
  CHECK(seqs(first) == Seqs{8, 9});
  CHECK(first->front().bytes == wire::encode_record(at(1, 8)));
  CHECK(seqs(rig.spool->peek_after({1, 9}, 2)) == Seqs{1, 2});
  REQUIRE(rig.spool->ack({2, 1}));
  CHECK(rig.spool->size() == 2);
  CHECK(seqs(rig.spool->peek_after({}, 10)) == Seqs{2, 3});
  CHECK(rig.spool->push(at(2, 3)).error().code == Errc::conflict);
  CHECK(rig.spool->push(at(1, 9)).error().code == Errc::conflict);
}

TEST_CASE("unacknowledged records survive the process, with their incarnation") {
  Rig rig;
  rig.fill(1, 200, 1);
  REQUIRE(rig.spool->ack({1, 150}));
  rig.open();
  CHECK(rig.spool->last() == RecordMark{1, 200});
  rig.fill(1, 2, 2);
  rig.open();
  CHECK(rig.spool->size() == 52);
  Seqs expected = range(151, 200);
  expected.insert(expected.end(), {1, 2});
  CHECK(rig.drain() == expected);
}

TEST_CASE("no record is returned before its commit, and a commit waits for its time") {
  Rig rig;
  REQUIRE(rig.spool->push(at(1, 1)));  // the first is written at once
  REQUIRE(rig.spool->push(at(1, 2)));
  REQUIRE(rig.spool->push(at(1, 3)));
  rig.spool->maintain();
  CHECK(seqs(rig.spool->peek_after({}, 10)) == Seqs{1});
  CHECK(rig.spool->patience() == rig.options.commit_every);
  rig.clock.advance(rig.spool->patience());
  rig.spool->maintain();
  CHECK(seqs(rig.spool->peek_after({}, 10)) == Seqs{1, 2, 3});
  CHECK(rig.spool->values().commits == 2);
}

TEST_CASE("a full spool drops the oldest that were never returned, counts them exactly, and stays within its bound") {
  Rig rig;
  rig.options.max_bytes = 1 << 20;
  rig.options.memory_bytes = 64 << 10;
  rig.open();
  rig.fill(1, 10, 1, 10'000);
  CHECK(seqs(rig.spool->peek_after({}, 3)) == range(1, 3));  // in flight
  rig.fill(11, 500, 1, 10'000);
  const auto values = rig.spool->values();
  CHECK(values.dropped > 380);
  CHECK(values.records + values.dropped == 500);
  CHECK(values.gap_records == values.dropped);
  REQUIRE(rig.spool->gaps().size() == 1);
  const Gap gap = rig.spool->gaps().front();
  CHECK(gap == Gap{1, 4, 3 + values.dropped, values.dropped});
  CHECK(std::filesystem::file_size(rig.options.path) <= rig.options.max_bytes + (64 << 10));
  rig.open();  // the gap is on disk too
  CHECK(rig.spool->gaps() == std::vector<Gap>{gap});
  Seqs expected = range(1, 3);
  for (const std::uint64_t seq : range(gap.last_seq + 1, 500)) expected.push_back(seq);
  CHECK(rig.drain() == expected);
  CHECK(rig.spool->gaps().empty());
}

TEST_CASE("records lost at the end of an incarnation are reported before the next one's records") {
  Rig rig;
  rig.options.max_bytes = 1 << 20;
  rig.open();
  rig.fill(1, 10, 1, 10'000);
  CHECK(seqs(rig.spool->peek_after({}, 3)) == range(1, 3));
  rig.fill(1, 500, 2, 10'000);
  CHECK(rig.spool->gaps_before(1, {}).empty());
  CHECK(rig.spool->gaps_before(2, {}) == std::vector<RecordGap>{{1, 4, 10}});
  CHECK(rig.spool->gaps_before(2, {1, 10}).empty());
  CHECK(rig.spool->gaps_before(3, {1, 10}).size() == 1);  // at the start of the second
  REQUIRE(rig.spool->ack({2, 500}));
  CHECK(rig.spool->gaps_before(3, {}).empty());
}

TEST_CASE("a spool of release 0.1 is migrated: its records, its gap and its position") {
  Rig rig;
  rig.spool.reset();
  std::filesystem::remove(rig.options.path);
  std::ifstream kept(wattle::tests::source_dir() + "/tests/fixtures/kept/spool-1.sql");
  const std::string sql((std::istreambuf_iterator<char>(kept)), {});
  REQUIRE(!sql.empty());
  sqlite3* file = nullptr;
  REQUIRE(sqlite3_open(rig.options.path.c_str(), &file) == SQLITE_OK);
  REQUIRE(sqlite3_exec(file, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(file);
  rig.open();
  CHECK(rig.spool->size() == 3);
  CHECK(seqs(rig.spool->peek_after({1, 2}, 9)) == Seqs{3});
  CHECK(seqs(rig.spool->peek_after({1, 3}, 9)) == Seqs{1, 2});
  CHECK(rig.spool->gaps_before(2, {1, 3}) == std::vector<RecordGap>{{1, 4, 10}});
  CHECK(rig.spool->last() == RecordMark{2, 2});
}

TEST_CASE("records of any size fill the bound without leaving the file larger than it") {
  Rig rig;
  rig.options.max_bytes = 256 << 10;
  rig.options.memory_bytes = 16 << 10;
  rig.open();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{300}, std::size_t{1400}, std::size_t{2100}}) {
    const std::uint64_t before = rig.spool->dropped();
    for (std::size_t filled = 0; filled < 2 * rig.options.max_bytes; filled += bytes + 30)
      REQUIRE(rig.spool->push(at(1, rig.spool->last().seq + 1, bytes)));
    CHECK(rig.spool->dropped() > before);
  }
  rig.open();
  CHECK(std::filesystem::file_size(rig.options.path) <= rig.options.max_bytes + (64 << 10));
}

TEST_CASE("returned, unacknowledged records are bounded in bytes and in number") {
  Rig rig;
  rig.options.memory_bytes = 100'000;
  rig.open();
  rig.fill(1, 20, 1, 9'000);
  const auto batch = rig.spool->peek_after({}, 100);
  CHECK(seqs(batch) == range(1, 5));
  CHECK(rig.spool->peek_after(batch->back().mark, 100)->empty());
  REQUIRE(rig.spool->ack({1, 2}));
  CHECK(seqs(rig.spool->peek_after(batch->back().mark, 100)) == range(6, 7));
  rig.fill(21, 21, 1, 200'000);
  CHECK(rig.drain({1, 2}) == range(3, 21));  // one that is larger than the bound goes alone
}

TEST_CASE("a damaged file is moved aside and reported, and a new one is created") {
  Rig rig;
  rig.fill(1, 100, 1, 3000);
  rig.spool.reset();
  bool readable = false;
  SUBCASE("not a database") { std::ofstream(rig.options.path) << std::string(20'000, 'x'); }
  SUBCASE("pages are torn, among them the roots of the tables") {
    readable = true;
    std::fstream file(rig.options.path, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 1; page < 8; ++page) {
      file.seekp(page * 4096);
      file << std::string(4096, '\x05');
    }
  }
  rig.open();
  const auto news = rig.spool->news();
  REQUIRE(news.size() == 1);
  CHECK(news.front().code == Errc::malformed);
  CHECK(news.front().fix.find(rig.options.path + ".damaged") != std::string::npos);
  CHECK(std::filesystem::exists(rig.options.path + ".damaged"));
  const std::size_t kept = rig.spool->size();
  CHECK(kept >= (readable ? 90U : 0U));
  CHECK(kept <= (readable ? 98U : 0U));
  rig.fill(1, 3, 2);
  const Seqs found = rig.drain();
  CHECK(found.size() == kept + 3);
  CHECK(Seqs(found.end() - 3, found.end()) == range(1, 3));
  CHECK(std::is_sorted(found.begin(), found.end() - 3));
}

TEST_CASE("a damaged file keeps its readable records, and the message counts those between them that are lost") {
  Rig rig;
  rig.fill(1, 60, 1, 3000);
  rig.fill(1, 40, 2, 3000);
  REQUIRE(rig.spool->ack({1, 5}));
  rig.spool.reset();
  std::uint64_t lost = 0;
  std::optional<std::uint64_t> cut;
  std::uint64_t torn = 50;
  SUBCASE("a page with a record is torn") { lost = 1; }
  SUBCASE("the schema is torn") { torn = 0; }
  SUBCASE("the root of the records is torn") { torn = 1; }
  SUBCASE("the end of the file is missing") { cut = 40 * 4096; }
  if (cut) {
    std::filesystem::resize_file(rig.options.path, *cut);
  } else {
    std::fstream file(rig.options.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(torn * 4096));
    file << std::string(4096, '\x05');
  }
  rig.open();
  const auto news = rig.spool->news();
  REQUIRE(news.size() == 1);
  INFO(news.front().message());
  const std::size_t kept = rig.spool->size();
  CHECK(kept >= (cut ? 20U : 94U));
  CHECK(kept <= (torn < 2 ? 100U : 95U));  // pages that were freed may hold acknowledged records
  CHECK(news.front().fix.find("; " + std::to_string(kept) + " readable records are kept, ") != std::string::npos);
  CHECK(rig.spool->dropped() == lost);
  const auto first = rig.spool->peek_after({1, 5}, 1);
  CHECK(seqs(first) == Seqs{6});
  CHECK(first->front().bytes == wire::encode_record(at(1, 6, 3000)));
  rig.fill(1, 3, 3);
  const Seqs found = rig.drain();
  CHECK(found.size() == kept + 3);
  CHECK(found.back() == 3);
}

TEST_CASE("a record with changed bytes on disk is dropped and counted, the others are not") {
  Rig rig;
  rig.fill(1, 100, 1, 3000);
  rig.spool.reset();
  {
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(rig.options.path.c_str(), &raw) == SQLITE_OK);
    REQUIRE(sqlite3_exec(raw, "UPDATE record SET body = replace(body, 'xxx', 'xyx') WHERE seq IN (7, 50)", nullptr,
                         nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(raw);
  }
  rig.open();
  Seqs expected = range(1, 100);
  std::erase_if(expected, [](std::uint64_t seq) { return seq == 7 || seq == 50; });
  CHECK(rig.drain() == expected);
  CHECK(rig.spool->dropped() == 2);
  CHECK(rig.spool->news().size() >= 1);
}

TEST_CASE("two processes do not share a spool") {
  Rig rig;
  const auto second = Spool::open_(rig.options, rig.clock);
  REQUIRE(!second);
  CHECK(second.error().code == Errc::conflict);
}

TEST_CASE("a file of a later version is refused, not moved aside") {
  Rig rig;
  rig.fill(1, 1);
  rig.spool.reset();
  sqlite3* raw = nullptr;
  REQUIRE(sqlite3_open(rig.options.path.c_str(), &raw) == SQLITE_OK);
  REQUIRE(sqlite3_exec(raw, "PRAGMA user_version=99", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(raw);
  CHECK(Spool::open_(rig.options, rig.clock).error().code == Errc::unsupported);
}

TEST_CASE("the log of a killed process is truncated, and every record stays") {
  Rig rig;
  rig.fill(1, 200, 1, 2000);
  const test::TempDir after;  // the disk as if the process is killed now
  for (const char* name : {"spool.db", "spool.db-wal"})
    std::filesystem::copy_file(rig.dir.file(name), after.file(name));
  rig.options.path = after.file("spool.db");
  rig.open();
  REQUIRE(std::filesystem::file_size(after.file("spool.db-wal")) > 100'000);
  CHECK(rig.spool->empty_log());
  CHECK(std::filesystem::file_size(after.file("spool.db-wal")) == 0);
  CHECK(seqs(rig.spool->peek_after({}, 1000)) == range(1, 200));
  rig.fill(201, 210);
  CHECK(seqs(rig.spool->peek_after({}, 1000)) == range(1, 210));
}

TEST_CASE(
    "a spool whose log or content is lost reports what may be missing, and one that was stopped cleanly does not") {
  Rig rig;
  rig.fill(1, 5);
  rig.open();
  CHECK(rig.spool->news().empty());
  CHECK(rig.drain() == range(1, 5));
  rig.fill(6, 9);
  // The files as after a kill.
  const test::TempDir killed;
  for (const char* suffix : {"", "-wal", "-open"}) {
    REQUIRE(std::filesystem::exists(rig.options.path + suffix));
    std::filesystem::copy_file(rig.options.path + suffix, killed.file("spool.db") + suffix);
  }
  rig.options.path = killed.file("spool.db");
  std::string what;
  SUBCASE("no record is lost") {}
  SUBCASE("the log is lost") {
    std::filesystem::remove(rig.options.path + "-wal");
    what = "is missing although the previous process did not stop normally";
  }
  SUBCASE("the log was truncated to zero") {
    std::filesystem::resize_file(rig.options.path + "-wal", 0);
    what = "is missing although the previous process did not stop normally";
  }
  SUBCASE("the file was truncated to zero") {
    std::filesystem::resize_file(rig.options.path, 0);
    what = "is empty";
  }
  SUBCASE("the file is lost") {
    std::filesystem::remove(rig.options.path);
    std::filesystem::remove(rig.options.path + "-wal");
    what = "is missing";
  }
  rig.open();
  const auto news = rig.spool->news();
  REQUIRE(news.size() == (what.empty() ? 0 : 1));
  if (!what.empty()) {
    CHECK(news.front().subject.starts_with(rig.options.path));
    CHECK(news.front().what.find(what) == 0);
    CHECK(news.front().fix.find("may be missing") != std::string::npos);
  }
  rig.fill(10, 12);
  const Seqs found = rig.drain();
  CHECK(found.back() == 12);
  rig.open();
  CHECK(rig.spool->news().empty());
}

TEST_CASE("a path that is not a file is moved aside, and the spool continues with a private file") {
  Rig rig;
  rig.spool.reset();
  std::filesystem::remove(rig.options.path);
  SUBCASE("a FIFO") { REQUIRE(::mkfifo(rig.options.path.c_str(), 0600) == 0); }
  SUBCASE("a directory") { std::filesystem::create_directory(rig.options.path); }
  SUBCASE("a directory where the log should be") { std::filesystem::create_directory(rig.options.path + "-wal"); }
  rig.open();
  const auto news = rig.spool->news();
  REQUIRE(news.size() == 1);
  CHECK(news.front().what.find(", not a file") != std::string::npos);
  rig.fill(1, 3);
  CHECK(rig.drain() == range(1, 3));
  for (const char* suffix : {"", "-wal", "-open"}) {
    struct stat info {};
    REQUIRE(::stat((rig.options.path + suffix).c_str(), &info) == 0);
    CHECK((info.st_mode & 07777U) == 0600);
  }
}
