// The store's file: the content of a transaction, retention, and earlier schemas.
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/places.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/store_rig.hpp"
#include "tests/unit/controller/store_tables.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

TEST_CASE("a batch adds marks, sums and raw records, and applying it again changes nothing") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  const std::vector<StoreItem> batch{item("a", 1, {pod_values("p", 10)}), item("b", 1),
                                     item("a", 2, {pod_values("p", 5)})};
  {
    StoreFile file = open(options);
    REQUIRE(file.apply(batch, 100));
    REQUIRE(file.apply(batch, 101));
    CHECK(file.raw_records() == 3);
  }
  StoreFile file = open(options);
  CHECK(file.marks() == StoreMarks{{"a", {{1, 2}}}, {"b", {{1, 1}}}});
  CHECK(StoreTables::ledger(file).value() == std::vector<LedgerRow>{{"a", "p", 0, 2, 10'000'000, 0, 15}});
  CHECK(StoreTables::nodes(file).value() ==
        std::vector<NodeSums>{{"a", 2, 0, 0, 200'000'000, 0, 0, 0}, {"b", 1, 0, 0, 100'000'000, 0, 0, 0}});
  const auto raw = StoreTables::raw(file).value();
  REQUIRE(raw.size() == 3);
  CHECK(raw[2].bytes == batch[2].bytes);
  CHECK(raw[2].mark == RecordMark{1, 2});
}

TEST_CASE("rows that are missing from the ledger are added up once when the file is opened") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  const auto pod = [](const std::vector<LedgerRow>& rows) { return rows.empty() ? LedgerRow{} : rows.front(); };
  for (std::uint64_t seq = 1; seq <= 60; ++seq) {
    StoreFile file = open(options);
    CHECK(pod(StoreTables::ledger(file).value()).records == static_cast<std::int64_t>(seq) - 1);
    StoreItem refused = item("b", seq, {pod_values("p", 1)});
    refused.refused = true;
    REQUIRE(file.apply(std::vector<StoreItem>{item("a", seq, {pod_values("p", 2)}), refused},
                       static_cast<std::int64_t>(seq)));
    CHECK(pod(StoreTables::ledger(file).value()).cpu_us == 2 * static_cast<std::int64_t>(seq));
    if (seq % 7 == 0) REQUIRE(file.write_ledger());
  }
  options.keep_s = 1;
  StoreFile file = open(options);
  REQUIRE(file.apply(std::vector<StoreItem>{item("a", 61, {pod_values("p", 2)})}, 1000));
  CHECK(file.raw_records() < 60);  // the deleted records are in the ledger
  CHECK(StoreTables::ledger(file).value() == std::vector<LedgerRow>{{"a", "p", 0, 61, 5'000'000 * 61, 0, 122}});
}

TEST_CASE("estimated and measured energy are never added together") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  StoreFile file = open(options);
  StoreItem guessed = item("a", 2, {pod_values("p", 1)});
  guessed.record.node.energy_source = EnergySource::estimated;
  REQUIRE(file.apply(std::vector<StoreItem>{item("a", 1, {pod_values("p", 1)}), guessed}, 100));
  CHECK(StoreTables::ledger(file).value() == std::vector<LedgerRow>{{"a", "p", 0, 2, 5'000'000, 5'000'000, 2}});
  CHECK(StoreTables::nodes(file).value().front().estimated_uj == 100'000'000);
  CHECK(StoreTables::nodes(file).value().front().energy_uj == 100'000'000);
}

TEST_CASE("raw records are deleted by age or when the file is full, and the sums stay") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  options.max_bytes = 1 << 20;
  options.keep_s = 60;
  StoreFile file = open(options);
  const auto add = [&](std::uint64_t first, std::uint64_t count, std::int64_t now_s, std::size_t bytes) {
    for (std::uint64_t seq = first; seq < first + count; seq += 50) {
      std::vector<StoreItem> batch;
      for (std::uint64_t at = seq; at < seq + 50; ++at) {
        batch.push_back(item("a", at));
        batch.back().bytes.resize(bytes);
      }
      REQUIRE(file.apply(batch, now_s));
      REQUIRE(file.checkpoint_if_long());
    }
  };
  add(1, 200, 1000, 100);
  add(201, 200, 1050, 100);
  CHECK(file.raw_records() == 400);
  add(401, 200, 1061, 100);
  CHECK(file.raw_records() == 400);
  add(601, 5000, 1062, 2000);
  CHECK(file.file_bytes() <= options.max_bytes + (256 << 10));
  CHECK(file.raw_records() > 100);
  CHECK(StoreTables::raw(file).value().front().mark.seq == 5600 - file.raw_records() + 1);
  CHECK(StoreTables::nodes(file).value().front().records == 5600);
}

TEST_CASE("ledger rows above the limit are summed up by node, and the most recently used stay") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  options.max_ledger_rows = 100;
  StoreFile file = open(options);
  const std::uint64_t batches = 600;  // the limit is checked only now and then
  for (std::uint64_t seq = 1; seq <= batches; ++seq)
    REQUIRE(file.apply(std::vector<StoreItem>{item("a", seq, {pod_values("p" + std::to_string(seq), 1)})},
                       static_cast<std::int64_t>(seq)));
  const auto rows = StoreTables::ledger(file).value();
  CHECK(rows.size() < 400);
  REQUIRE(rows.front().name.empty());
  CHECK(std::any_of(rows.begin(), rows.end(), [](const LedgerRow& row) { return row.name == "p600"; }));
  std::int64_t energy_uj = 0, records = 0;
  for (const LedgerRow& row : rows) {
    energy_uj += row.energy_uj;
    records += row.records;
  }
  CHECK(energy_uj == 5'000'000 * static_cast<std::int64_t>(batches));
  CHECK(records == static_cast<std::int64_t>(batches));
}

TEST_CASE("sums saturate and stay whole for any record, and folding such rows does not fail") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  options.max_ledger_rows = 100;
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  const std::uint64_t batches = 600;
  {
    StoreFile file = open(options);
    for (std::uint64_t seq = 1; seq <= batches; ++seq) {
      WorkloadValues fresh = pod_values("p" + std::to_string(seq), kHuge), same = pod_values("same", kHuge);
      fresh.energy_uj = same.energy_uj = kHuge;
      StoreItem one = item("a", seq, {fresh, same});
      one.record.node.energy_uj = one.record.node.idle_energy_uj = one.record.node.unattributed_energy_uj = kHuge;
      one.bytes = wire::encode_record(one.record);
      REQUIRE(file.apply(std::vector<StoreItem>{one}, static_cast<std::int64_t>(seq)));
      if (seq % 50 == 0) REQUIRE(file.write_ledger());
    }
  }
  StoreFile file = open(options);
  const auto node = StoreTables::nodes(file).value().front();
  CHECK(node == NodeSums{"a", static_cast<std::int64_t>(batches), 0, 0, kMostSum, 0, kMostSum, kMostSum});
  const auto rows = StoreTables::ledger(file).value();
  CHECK(rows.size() < 400);
  CHECK(rows.front().name.empty());
  CHECK(rows.front().energy_uj == kMostSum);
  CHECK(rows.front().cpu_us == kMostSum);
  const auto same = std::find_if(rows.begin(), rows.end(), [](const LedgerRow& row) { return row.name == "same"; });
  REQUIRE(same != rows.end());
  CHECK(same->energy_uj == kMostSum);
  CHECK(same->records == static_cast<std::int64_t>(batches));
}

TEST_CASE("an empty file is replaced and reported as damaged, because a store file is never empty") {
  wattle::test::TempDir dir;
  StoreOptions options;
  options.file.path = dir.file("store.db");
  std::ofstream(options.file.path).flush();
  const SystemClock clock;
  const Log log = Log::silent();
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  store->reset();
  std::filesystem::remove_all(options.file.path);
  REQUIRE(::mkfifo(options.file.path.c_str(), 0600) == 0);
  store = Store::start(options, clock, log);
  REQUIRE(store);
  struct stat info {};
  REQUIRE(::stat(options.file.path.c_str(), &info) == 0);
  CHECK(S_ISREG(info.st_mode));
  CHECK((info.st_mode & 07777U) == 0600);
}

TEST_CASE("incarnations are kept apart, and the lowest are forgotten") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  {
    StoreFile file = open(options);
    for (std::uint64_t incarnation = 1; incarnation <= kMarksPerNode + 4; ++incarnation)
      REQUIRE(file.apply(std::vector<StoreItem>{item("a", incarnation, {}, incarnation)}, 1));
  }
  const StoreFile file = open(options);
  const auto& marks = file.marks().at("a");
  CHECK(marks.size() == kMarksPerNode);
  CHECK(marks.begin()->first == 5);
  CHECK(marks.at(20) == 20);
}

TEST_CASE("the mark of an incarnation that is lower than all others is kept while its records arrive") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  {
    StoreFile file = open(options);
    for (std::uint64_t incarnation = 100; incarnation < 100 + kMarksPerNode; ++incarnation)
      REQUIRE(file.apply(std::vector<StoreItem>{item("a", 1, {}, incarnation)}, 1));
    REQUIRE(file.apply(std::vector<StoreItem>{item("a", 5, {}, 7)}, 1));
  }
  const StoreFile file = open(options);
  const auto& marks = file.marks().at("a");
  CHECK(marks.size() == kMarksPerNode);
  CHECK(marks.at(7) == 5);
  CHECK_FALSE(marks.contains(100));
}

// Every later version must read the file of a released schema.
TEST_CASE("a store of schema 1 is readable") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  {
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(options.path.c_str(), &raw) == SQLITE_OK);
    std::ifstream golden(tests::source_dir() + "/tests/fixtures/store/schema-1.sql");
    const std::string sql((std::istreambuf_iterator<char>(golden)), {});
    REQUIRE(!sql.empty());
    char* why = nullptr;
    const int code = sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, &why);
    INFO((why != nullptr ? why : ""));
    REQUIRE(code == SQLITE_OK);
    sqlite3_close(raw);
  }
  StoreFile file = open(options);
  CHECK(file.marks() == StoreMarks{{"worker-1", {{1700000000, 7}, {1700000100, 2}}}});
  CHECK(StoreTables::nodes(file).value() == std::vector<NodeSums>{{"worker-1", 8, 1, 3, 500, 40, 60, 70}});
  CHECK(StoreTables::ledger(file).value() == std::vector<LedgerRow>{{"worker-1", "pod-a", 0, 5, 370, 40, 99}});
  CHECK(file.gaps(10).value() == std::vector<StoreGap>{{"worker-1", 1700000000, 2, 4, "never came", 1700000010}});
  REQUIRE(StoreTables::raw(file).value().size() == 1);
  CHECK(StoreTables::raw(file).value().front().mark == RecordMark{1700000100, 2});
  const std::vector<PodFacts> running = file.usage().running(10).value();
  REQUIRE(running.size() == 1);
  CHECK(running.front().runs_confirmed());
  CHECK(running.front().unit == "nightly-report.service");
  CHECK(running.front().limit_s == 1700086450);
  REQUIRE(file.apply(std::vector<StoreItem>{item("worker-1", 3, {}, 1700000100)}, 5));
  CHECK(file.raw_records() == 2);
  const std::vector<DecisionRow> kept = file.decisions().newest(0, 10).value().rows;
  CHECK(kept == std::vector<DecisionRow>{{41, 1700000105, "record", "{}"}});
  const RequestRow needs{"shop/Deployment/web", 1700000100, "packed"};
  CHECK(file.requests().all().value() == std::vector{needs});
  const RequestRow more_needs{"shop/Deployment/web", 1700000700, "newer"};
  REQUIRE(file.requests().put(std::vector{more_needs}, 1700000700));
  CHECK(file.requests().all().value() == std::vector{more_needs});
  CHECK(file.sleeps().exclusions().value().empty());
  CHECK(file.sleeps().plan().value().empty());
  REQUIRE(file.sleeps().exclude("worker-1", "disk check", 1700000700));
  CHECK(file.sleeps().exclusions().value() == std::map<std::string, std::string>{{"worker-1", "disk check"}});
  REQUIRE(file.sleeps().exclude("worker-1", "", 1700000701));
  CHECK(file.sleeps().exclusions().value().empty());
  REQUIRE(file.decisions().put(std::vector<DecisionRow>{{42, 1700000106, "another", "{}"}}, 1700000106));
  CHECK(file.decisions().rows() == kept.size() + 1);
  CHECK(file.decisions().last_id() == 42);
  // Recording starts with the first sample; the earlier part of the hour is kept.
  StoreItem more = item("worker-1", 4, {pod_values("pod-a", 1)}, 1700000100);
  more.record.node.unattributed_energy_uj = 95'000'000;
  REQUIRE(file.apply(std::vector<StoreItem>{more}, 1700000200));
  const UsageReport report = file.report({0, ReportBy::name_space, {}}).value();
  CHECK(report.cut);
  CHECK(report.from_s == 1699999800);
  CHECK(report.rows.at("shop").used == LedgerSums{1, 5'000'230, 40, 88, 25, 50});
  CHECK(report.rows.at("shop").placements == 1);
  CHECK(report.rows.at("(service)").used == LedgerSums{0, 7, 0, 8, 0, 0});
  CHECK(report.nodes.idle == Energy{40, 0});
  const UsageReport containers = file.report({0, ReportBy::container, {}}).value();
  REQUIRE(containers.rows.count("shop/web-5d9/app") == 1);
  CHECK(containers.rows.at("shop/web-5d9/app").used.energy_uj == 30);
  CHECK(containers.rows.at("shop/web-5d9/(rest)").used.energy_uj == 5'000'200);
}

TEST_CASE("the needs of workloads are kept for two weeks, for a bounded number of workloads") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  StoreFile file = open(options);
  const std::int64_t now_s = 1'700'000'000;
  std::vector<RequestRow> rows;
  for (std::int64_t i = 0; i < RequestTable::kMostRows; ++i)
    rows.push_back({"shop/Deployment/" + std::to_string(100'000 + i), now_s + i, "body"});
  REQUIRE(file.requests().put(rows, now_s));
  REQUIRE(file.requests().put(std::vector<RequestRow>{{"shop/Deployment/new", now_s + 100'000, "body"}}, now_s));
  auto kept = file.requests().all().value();
  CHECK(kept.size() == static_cast<std::size_t>(RequestTable::kMostRows));
  CHECK(kept.front().workload == "shop/Deployment/100001");  // the oldest was dropped
  CHECK(kept.back().workload == "shop/Deployment/new");
  CHECK(file.requests().bytes() > 8000 * 25);
  REQUIRE(file.requests().put({}, now_s + 100'000 + RequestTable::kKeep_s));
  kept = file.requests().all().value();
  CHECK(kept.size() == 1);
}
