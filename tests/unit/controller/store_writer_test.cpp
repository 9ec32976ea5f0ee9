// The store's writer: its reports, over clock steps, failing disks and damaged files.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/store_rig.hpp"
#include "tests/unit/controller/store_tables.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using sqlite::testing::CrashDisk;

TEST_CASE("the writer commits and reports what was added, and a new one continues after it") {
  wattle::test::TempDir dir;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = dir.file("sub/store.db");
  options.commit_every = 1ms;
  {
    auto store = Store::start(options, clock, log);
    REQUIRE(store);
    StoreItem first = item("a", 5);
    first.gap = StoreGap{"a", 1, 1, 4, "never received", 0};
    (*store)->add(first);
    (*store)->add(item("a", 6));
    (*store)->add(item("b", 1));
    const auto news = wait_for(**store, 3);
    CHECK(news.back().node == "b");
    const StoreFigures figures = (*store)->figures();
    CHECK(figures.records == 3);
    CHECK(figures.queue_records == 0);
    CHECK(figures.queue_bytes == 0);
    CHECK(figures.gap_records == 4);
    (*store)->add(item("b", 2));  // the destructor writes it
  }
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  CHECK((*store)->marks() == StoreMarks{{"a", {{1, 6}}}, {"b", {{1, 2}}}});
  REQUIRE((*store)->recent_gaps().size() == 1);
  CHECK((*store)->recent_gaps().front().last_seq == 4);
  CHECK((*store)->figures().raw_records == 4);
}

TEST_CASE("a step of the wall clock makes no raw record older or younger") {
  wattle::test::TempDir dir;
  ManualClock clock(mono_from_ns(kSecondNs), wall_from_ns(1'700'000'000 * kSecondNs));
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = dir.file("store.db");
  options.file.keep_s = 60;
  options.commit_every = 1ms;
  std::unique_ptr<Store> store;
  const auto start = [&] {
    store.reset();
    auto started = Store::start(options, clock, log);
    REQUIRE(started);
    store = std::move(*started);
  };
  start();
  std::uint64_t seq = 0;
  // The writer reads the clock only between add() and its report.
  const auto raw_after = [&](Duration passes, Duration wall_jumps) {
    clock.advance(passes);
    clock.step_wall(wall_jumps);
    store->add(item("a", ++seq));
    wait_for(*store, 1);
    return store->figures().raw_records;
  };
  CHECK(raw_after(0s, 0s) == 1);
  CHECK(raw_after(10s, 2h) == 2);
  CHECK(raw_after(10s, -50h) == 3);
  CHECK(raw_after(10s, 100h) == 4);
  start();  // the file keeps the clock's state
  CHECK(raw_after(29s, 0s) == 5);
  CHECK(raw_after(2s, 10min) == 5);  // the first was 61 s old and was deleted
  CHECK(raw_after(61s, -1h) == 1);
  CHECK(raw_after(1s, 0s) == 2);
}

TEST_CASE("a full disk makes the writer wait, and all items are written once when there is room again") {
  CrashDisk disk;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = "store.db";
  options.file.database.vfs = CrashDisk::kName;
  options.commit_every = options.retry_every = 1ms;
  options.queue_bytes = 64 << 10;
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  SUBCASE("full") { disk.full = true; }
  SUBCASE("failing") { disk.broken = true; }
  std::uint64_t seq = 0;
  while (!(*store)->full()) (*store)->add(item("a", ++seq));
  const StoreFigures figures = until(**store, [](const StoreFigures& at) { return !at.problem.empty(); });
  CHECK(!figures.problem.empty());
  CHECK(figures.queue_records == seq);
  CHECK((*store)->committed().empty());
  disk.full = disk.broken = false;
  std::size_t reported = 0;
  for (const Committed& news : wait_for(**store, seq)) reported += news.records;
  CHECK(reported == seq);
  CHECK((*store)->figures().problem.empty());
  store->reset();
  StoreFile file = open(options.file);
  CHECK(StoreTables::raw(file).value().size() == seq);
  CHECK(StoreTables::nodes(file).value().front().records == static_cast<std::int64_t>(seq));
}

TEST_CASE("a damaged file is moved aside, reported, and never deleted; a new one is created") {
  wattle::test::TempDir dir;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = dir.file("store.db");
  std::ofstream(options.file.path) << std::string(20'000, 'x');
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  CHECK((*store)->marks().empty());
  std::size_t aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    if (entry.path().filename().string().starts_with("store.db.damaged-")) aside = entry.file_size();
  CHECK(aside == 20'000);
  (*store)->add(item("a", 1));
  wait_for(**store, 1);
}

TEST_CASE("a file of another process or a later version is refused by name") {
  wattle::test::TempDir dir;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = dir.file("store.db");
  {
    auto store = Store::start(options, clock, log);
    REQUIRE(store);
    CHECK(Store::start(options, clock, log).error().code == Errc::conflict);
  }
  sqlite3* raw = nullptr;
  REQUIRE(sqlite3_open(options.file.path.c_str(), &raw) == SQLITE_OK);
  REQUIRE(sqlite3_exec(raw, "PRAGMA user_version=99", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(raw);
  const auto later = Store::start(options, clock, log);
  REQUIRE(!later);
  CHECK(later.error().code == Errc::unsupported);
  CHECK(later.error().subject == options.file.path);
}
