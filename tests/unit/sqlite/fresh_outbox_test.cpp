// fresh_outbox: the outbox that keeps new records in an unsynced file: its state after a kill, and when records move to
// the spool.
#include "common/sqlite/fresh_outbox.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "common/wire/codec.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::sqlite;
using namespace std::chrono_literals;

namespace {

Record record_of(const RecordMark& mark, std::size_t bytes) {
  Record record;
  record.incarnation = mark.incarnation;
  record.seq = mark.seq;
  record.probes.push_back({std::string(bytes, static_cast<char>('a' + mark.seq % 26)), {}, {}, {}, 0, 0});
  return record;
}

struct FreshRig {
  test::TempDir dir;
  ManualClock clock{mono_from_ns(1'000'000'000)};
  SpoolOptions options;
  std::unique_ptr<FreshOutbox> outbox;
  std::uint64_t seq = 0, incarnation = 1;
  std::map<RecordMark, std::string> wanted;  // pushed and not acknowledged

  FreshRig() {
    options.path = dir.file("spool.db");
    options.memory_bytes = std::uint64_t{64} << 20;  // limits the result of peek_after()
    open();
  }
  void open() {
    outbox.reset();
    auto opened = FreshOutbox::open_(options, clock);
    REQUIRE(opened);
    outbox = std::move(*opened);
  }
  void push(std::size_t bytes = 2000) {
    const RecordMark mark{incarnation, ++seq};
    REQUIRE(outbox->push(record_of(mark, bytes)));
    wanted[mark] = wire::encode_record(record_of(mark, bytes));
  }
  void ack(const RecordMark& mark) {
    REQUIRE(outbox->ack(mark));
    wanted.erase(wanted.begin(), wanted.upper_bound(mark));
  }
  void wait(Duration time) {
    clock.advance(time);
    outbox->maintain();
  }
  // The files as they are now, as after a kill.
  void kill() {
    const test::TempDir after;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
      std::filesystem::copy_file(entry.path(), after.file(entry.path().filename().string()));
    outbox.reset();
    for (const auto& entry : std::filesystem::directory_iterator(after.path()))
      std::filesystem::copy_file(entry.path(), dir.file(entry.path().filename().string()),
                                 std::filesystem::copy_options::overwrite_existing);
    open();
    ++incarnation;
    seq = 0;
  }
  // All records that can be sent, in order.
  std::map<RecordMark, std::string> held() {
    std::map<RecordMark, std::string> all;
    RecordMark mark;
    for (;;) {
      const auto batch = outbox->peek_after(mark, 7);
      REQUIRE(batch);
      if (batch->empty()) return all;
      for (const EncodedRecord& record : *batch) {
        CHECK(record.mark > mark);
        mark = record.mark;
        all[mark] = record.bytes;
      }
    }
  }
};

}  // namespace

TEST_CASE("a record can be sent at once, and one that is acknowledged soon never reaches the spool") {
  FreshRig rig;
  for (int i = 0; i < 500; ++i) {
    rig.push();
    CHECK(rig.held() == rig.wanted);
    rig.wait(100ms);
    rig.ack({1, rig.seq});
    rig.wait(900ms);
  }
  CHECK(rig.outbox->values().commits == 0);
  CHECK(rig.outbox->values().written_bytes == 0);
  CHECK(rig.outbox->size() == 0);
}

TEST_CASE("a record without acknowledgement is in the spool after ten seconds, with those after it") {
  FreshRig rig;
  for (int i = 0; i < 10; ++i) {
    rig.push();
    CHECK(rig.outbox->values().commits == 0);
    CHECK(rig.outbox->patience() <= kFreshFor);
    rig.wait(1s);
  }
  CHECK(rig.outbox->values().commits == 1);
  CHECK(rig.outbox->values().records == 10);
  CHECK(rig.held() == rig.wanted);
  rig.ack({1, 4});
  CHECK(rig.held() == rig.wanted);
  rig.outbox.reset();
  std::filesystem::remove(rig.options.path + "-fresh");  // as after a power failure
  rig.open();
  const auto held = rig.held();
  CHECK(std::includes(held.begin(), held.end(), rig.wanted.begin(), rig.wanted.end()));
}

TEST_CASE("acknowledged records leave the spool's file when an outage is over") {
  FreshRig rig;
  for (int i = 0; i < 400; ++i) {
    rig.push();
    rig.wait(1s);
  }
  rig.ack({1, 400});
  for (int i = 0; i < 5; ++i) rig.wait(1s);
  rig.kill();
  CHECK(rig.outbox->values().bytes < 100'000);
}

TEST_CASE("the file reuses the space of acknowledged records, also when acknowledgements are late") {
  FreshRig rig;
  const std::string fresh = rig.options.path + "-fresh";
  for (int i = 0; i < 400; ++i) {
    rig.push();
    if (rig.seq > 3) rig.ack({1, rig.seq - 3});
    rig.wait(1s);
  }
  CHECK(rig.outbox->values().commits == 0);
  CHECK(std::filesystem::file_size(fresh) == kFreshBytes);
  std::ifstream file(fresh, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  std::size_t pages = 0;
  for (std::size_t at = 0; at < content.size(); at += 4096)
    pages += content.compare(at, 4096, std::string(4096, '\0')) != 0 ? 1 : 0;
  CHECK(pages <= 6);
  struct stat info {};
  REQUIRE(::stat(fresh.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600);
}

TEST_CASE("for any pushes, acknowledgements and kills, every unacknowledged record is kept, byte for byte") {
  CHECK(rc::check([] {
    FreshRig rig;
    for (int step = *rc::gen::inRange(10, 40); step > 0; --step) {
      const int what = *rc::gen::inRange(0, 12);
      if (what < 6) {
        rig.push(*rc::gen::element<std::size_t>(10, 2000, 9000, 300'000));
      } else if (what < 8 && !rig.wanted.empty()) {
        const auto at = std::next(rig.wanted.begin(), *rc::gen::inRange<int>(0, static_cast<int>(rig.wanted.size())));
        rig.ack(RecordMark(at->first));
      } else if (what < 10) {
        rig.wait(std::chrono::milliseconds(*rc::gen::inRange(1, 6000)));
      } else if (what == 10) {
        rig.kill();
        // Acknowledged records may be sent again; the controller knows their numbers.
        const auto held = rig.held();
        RC_ASSERT(std::includes(held.begin(), held.end(), rig.wanted.begin(), rig.wanted.end()));
        if (rig.wanted.empty() && !held.empty()) rig.ack(held.rbegin()->first);
        if (!rig.wanted.empty())
          for (const auto& [mark, bytes] : held)
            if (mark < rig.wanted.begin()->first) REQUIRE(rig.outbox->ack(mark));
      }
      RC_ASSERT(rig.held() == rig.wanted);
      RC_ASSERT(rig.outbox->size() == rig.wanted.size());
    }
  }));
}

TEST_CASE("a damaged file gives only whole records, and the outbox continues") {
  FreshRig rig;
  for (int i = 0; i < 6; ++i) rig.push(3000);
  const auto all = rig.wanted;
  {
    std::fstream file(rig.options.path + "-fresh", std::ios::in | std::ios::out | std::ios::binary);
    SUBCASE("in the last record") { file.seekp(static_cast<std::streamoff>(kFreshBytes / 2) + 3000 * 4 + 1000); }
    SUBCASE("in the first record") { file.seekp(100); }
    file << "damage";
  }
  rig.kill();
  for (const auto& [mark, bytes] : rig.held()) CHECK(all.at(mark) == bytes);
  CHECK(rig.held().size() < all.size());
  rig.push();
  CHECK(rig.held().contains(RecordMark{2, 1}));
}

TEST_CASE("another file type in its place is reported, and each record is synced instead") {
  FreshRig rig;
  rig.outbox.reset();
  std::filesystem::remove(rig.options.path + "-fresh");
  std::filesystem::create_directory(rig.options.path + "-fresh");
  rig.open();
  const auto news = rig.outbox->news();
  REQUIRE(news.size() == 1);
  CHECK(news.front().subject.find("-fresh") != std::string::npos);
  rig.push();
  CHECK(rig.outbox->values().commits == 1);
  CHECK(rig.held() == rig.wanted);
}

TEST_CASE("a process that is killed by SIGKILL loses no pushed record") {
  const test::TempDir dir;
  SpoolOptions options;
  options.path = dir.file("spool.db");
  int pushed[2];
  REQUIRE(::pipe(pushed) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const SystemClock clock;
    auto outbox = FreshOutbox::open_(options, clock);
    for (std::uint64_t seq = 1; outbox; ++seq) {
      if (!(*outbox)->push(record_of({1, seq}, 2000))) break;
      if (::write(pushed[1], &seq, sizeof seq) != sizeof seq) break;
      if (seq == 400) ::pause();
    }
    ::_exit(1);
  }
  std::uint64_t last = 0;
  while (last < 50) REQUIRE(::read(pushed[0], &last, sizeof last) == sizeof last);
  REQUIRE(::kill(child, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  ::close(pushed[1]);
  while (::read(pushed[0], &last, sizeof last) == sizeof last) {
  }
  ::close(pushed[0]);
  const SystemClock clock;
  auto outbox = FreshOutbox::open_(options, clock);
  REQUIRE(outbox);
  const auto records = (*outbox)->peek_after({}, 10'000);
  REQUIRE(records);
  REQUIRE(records->size() >= last);
  for (std::uint64_t seq = 1; seq <= last; ++seq)
    CHECK((*records)[seq - 1].bytes == wire::encode_record(record_of({1, seq}, 2000)));
}
