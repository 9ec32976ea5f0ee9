// Decisions on disk: the table, its writer, and its readers.
#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <random>

#include "common/json/value.hpp"
#include "controller/decisions/decision_row.hpp"
#include "controller/web/decision_json.hpp"
#include "controller/web/store_documents.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/helpers.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;
using json = wattle::SortedJson;
using sqlite::testing::CrashDisk;

namespace {

constexpr std::int64_t kNow_s = 1'700'000'000;

LoggedDecision decision_of(std::uint64_t id, std::int64_t at_s, std::size_t candidates = 3) {
  LoggedDecision entry;
  wire::Decision& decision = entry.decision;
  decision.id = id;
  decision.wall_ns = at_s * 1'000'000'000;
  decision.pod_uid = "uid-" + std::to_string(id);
  decision.pod_name = "web";
  decision.pod_namespace = "shop";
  decision.policy = "dqn";
  decision.decided_by = "network";
  decision.mode = "live";
  decision.reason = "adds the fewest watts";
  decision.propensity = 1;
  for (std::size_t i = 0; i < candidates; ++i) {
    wire::Candidate candidate;
    candidate.node = "n" + std::to_string(i);
    if (i % 3 == 2)
      candidate.masked = "not ready";
    else
      candidate.q = -static_cast<double>(i);
    decision.candidates.push_back(candidate);
  }
  decision.advice = entry.winner = "n0";
  entry.runner_up = "n1";
  entry.winner_terms = Contributions{-1, -2, 0.5, -2.5, 0.25};
  entry.runner_up_terms = Contributions{-2, -2, 0, -4, std::nullopt};
  entry.demand_cores = 0.4;
  entry.candidates = candidates;
  entry.masked = candidates / 3;
  entry.model = {"abc", "promoted"};
  return entry;
}

StoreFile open_history(const StoreFileOptions& options) {
  auto file = StoreFile::open_(options);
  if (!file) FAIL(file.error().message());
  return std::move(*file);
}

std::vector<std::uint64_t> ids_of(const DecisionPage& page) {
  std::vector<std::uint64_t> ids;
  for (const DecisionRow& row : page.rows) ids.push_back(row.id);
  return ids;
}

std::vector<DecisionRow> rows_of(std::initializer_list<std::uint64_t> ids) {
  std::vector<DecisionRow> rows;
  for (const std::uint64_t id : ids)
    rows.push_back(decision_row(decision_of(id, kNow_s + static_cast<std::int64_t>(id))));
  return rows;
}

}  // namespace

TEST_CASE("a decision that is read back has the same content for the nodes that mattered") {
  LoggedDecision entry = decision_of(7, kNow_s, 300);
  entry.decision.placed_on = "n298";  // ranks far below the best nodes
  entry.decision.outcome = wire::Outcome{"n298", -0.5, false, {{"mean_power_w", 80}}};
  const DecisionRow row = decision_row(entry);
  CHECK(row.at_s == kNow_s);
  CHECK(row.body.size() + row.rest.size() < 2500);
  const auto read = parse_decision(row);
  REQUIRE_MESSAGE(read, read.error().message());
  CHECK(decision_json(*read) == decision_json(entry));
  CHECK(read->decision.candidates.size() == kKeptCandidates);
  CHECK(read->decision.candidates.back().node == "n298");
  json kept = explained_json(*read), reported = explained_json(entry);
  for (const char* key : {"winner", "runner_up", "winner_terms", "runner_up_terms", "demand_cores"}) {
    CAPTURE(key);
    CHECK(kept[key] == reported[key]);
  }
}

TEST_CASE("a row of arbitrary bytes is refused or becomes a decision with its number") {
  const DecisionRow good = decision_row(decision_of(7, kNow_s));
  CHECK_FALSE(parse_decision({8, good.at_s, good.body, good.rest}));
  CHECK_FALSE(parse_decision({7, good.at_s, good.body, "[]"}));
  CHECK_FALSE(parse_decision({7, good.at_s, good.body, R"({"candidates": 2})"}));
  CHECK_FALSE(parse_decision({7, good.at_s, "", good.rest}));
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    DecisionRow row = good;
    std::string& text = i % 2 == 0 ? row.body : row.rest;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    const auto read = parse_decision(row);
    if (read) CHECK(read->decision.id == 7);
    refused += read ? 0 : 1;
  }
  CHECK(refused > 5000);
}

TEST_CASE("rows are replaced by id, counted from a given time, returned newest first, and kept over a reopening") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  {
    StoreFile file = open_history(options);
    CHECK(file.decisions().last_id() == 0);
    REQUIRE(file.decisions().put(rows_of({1, 2, 3}), kNow_s));
    LoggedDecision later = decision_of(2, kNow_s + 2);
    later.decision.placed_on = "n1";
    REQUIRE(file.decisions().put(std::vector{decision_row(later)}, kNow_s));
  }
  StoreFile file = open_history(options);
  CHECK(file.decisions().last_id() == 3);
  CHECK(file.decisions().rows() == 3);
  auto page = file.decisions().newest(kNow_s + 2, 10);
  REQUIRE(page);
  CHECK(page->kept == 2);
  CHECK(ids_of(*page) == std::vector<std::uint64_t>{3, 2});
  CHECK(parse_decision(page->rows[1])->decision.placed_on == "n1");
  CHECK(ids_of(*file.decisions().newest(0, 1)) == std::vector<std::uint64_t>{3});
  const std::uint64_t bytes = file.decisions().bytes();
  REQUIRE(file.decisions().put(rows_of({3}), kNow_s));
  CHECK(file.decisions().bytes() == bytes);
}

TEST_CASE("decisions are dropped by age or size, and raw records are not dropped for them") {
  wattle::test::TempDir dir;
  StoreFileOptions options;
  options.path = dir.file("store.db");
  options.decisions.keep_s = 10;
  SUBCASE("by age") {
    StoreFile file = open_history(options);
    REQUIRE(file.decisions().put(rows_of({1, 2, 3}), kNow_s + 3));
    REQUIRE(file.decisions().put(rows_of({12}), kNow_s + 12));
    CHECK(ids_of(*file.decisions().newest(0, 10)) == std::vector<std::uint64_t>{12, 3, 2});
    REQUIRE(file.decisions().put(rows_of({100}), kNow_s + 100));
    CHECK(ids_of(*file.decisions().newest(0, 10)) == std::vector<std::uint64_t>{100});
  }
  SUBCASE("by size") {
    options.decisions.keep_s = 1 << 30;
    options.decisions.max_bytes = 20'000;
    std::uint64_t bytes = 0;
    {
      StoreFile file = open_history(options);
      for (std::uint64_t id = 1; id <= 100; ++id) REQUIRE(file.decisions().put(rows_of({id}), kNow_s));
      CHECK(file.decisions().bytes() <= 20'000);
      const auto page = file.decisions().newest(0, 1000);
      REQUIRE(page->rows.size() > 5);
      CHECK(page->rows.front().id == 100);
      CHECK(page->rows.back().id == 101 - page->rows.size());
      bytes = file.decisions().bytes();
    }
    CHECK(open_history(options).decisions().bytes() == bytes);
  }
  SUBCASE("none") {
    options.decisions.max_bytes = 0;
    StoreFile file = open_history(options);
    REQUIRE(file.decisions().put(rows_of({1}), kNow_s));
    CHECK(file.decisions().rows() == 0);
  }
}

TEST_CASE("the writer keeps decisions, orders reads after earlier writes, and a new writer finds the rows") {
  wattle::test::TempDir dir;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = dir.file("store.db");
  options.file.decisions.keep_s = std::int64_t{1} << 40;
  options.decisions_found = 2;
  {
    auto store = Store::start(options, clock, log);
    REQUIRE(store);
    CHECK((*store)->last_decision_id() == 0);
    for (const DecisionRow& row : rows_of({1, 2, 3})) (*store)->keep(row);
    auto answer = (*store)->read([](StoreFile& file) { return history_text(file, {0, 2}); });
    pollfd ready{(*store)->fd(), POLLIN, 0};
    CHECK(::poll(&ready, 1, 30'000) == 1);
    const auto text = answer.get();
    REQUIRE(text);
    const json reported = json::parse(*text);
    CHECK(reported["kept"] == 3);
    REQUIRE(reported["decisions"].size() == 2);
    CHECK(reported["decisions"][0] == decision_json(decision_of(3, kNow_s + 3)));
    (*store)->keep(rows_of({9}).front());  // the destructor writes it
  }
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  CHECK((*store)->last_decision_id() == 9);
  REQUIRE((*store)->decisions_found().size() == 2);
  CHECK((*store)->decisions_found()[0].id == 9);
  CHECK((*store)->decisions_found()[1].id == 3);
  const auto text = (*store)->read([](StoreFile& file) { return history_text(file, {0, 1000}); }).get();
  CHECK(json::parse(text.value())["kept"] == 4);
}

TEST_CASE("a failing disk drops the oldest decisions and counts them; the others are written once it recovers") {
  CrashDisk disk;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = "store.db";
  options.file.database.vfs = CrashDisk::kName;
  options.file.decisions.keep_s = std::int64_t{1} << 40;
  options.commit_every = options.retry_every = options.decisions_every = 1ms;
  options.decisions_queue_bytes = 64 << 10;
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  SUBCASE("full") { disk.full = true; }
  SUBCASE("failing") { disk.broken = true; }
  std::uint64_t id = 0;
  const auto put = [&] { (*store)->keep(rows_of({++id}).front()); };
  while ((*store)->figures().decisions_lost == 0 || (*store)->figures().decisions_problem.empty()) put();
  disk.full = disk.broken = false;
  while (!(*store)->figures().decisions_problem.empty()) ::poll(nullptr, 0, 2);
  const auto text = (*store)->read([](StoreFile& file) { return history_text(file, {0, 1000}); }).get();
  REQUIRE(text);
  const json reported = json::parse(*text);
  CHECK(reported["decisions"][0]["id"] == id);  // the newest is never dropped
  CHECK(reported["kept"].get<std::uint64_t>() + (*store)->figures().decisions_lost == id);
}

TEST_CASE("a malformed time span or limit is refused by name") {
  const WallTime now = wall_from_ns(kNow_s * 1'000'000'000);
  CHECK(is_of_store("decisions", {{"since", "7d"}}));
  CHECK_FALSE(is_of_store("decisions", {{"limit", "7"}}));
  CHECK_FALSE(is_of_store("nodes", {{"since", "7d"}}));
  const auto week = parse_history({{"since", "7d"}, {"limit", "1000"}}, now);
  REQUIRE(week);
  CHECK(week->since_s == kNow_s - 7 * 86'400);
  CHECK(week->limit == 1000);
  for (const char* wrong : {"", "7", "-1d", "week", "1e9d", "0"}) {
    CAPTURE(wrong);
    const auto refused = parse_history({{"since", wrong}}, now);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().subject == "argument since");
  }
  CHECK_FALSE(parse_history({{"since", "7d"}, {"limit", "0"}}, now));
  const auto nowhere =
      ask_store(*Store::none(SystemClock(), Log::silent()), "decisions", {{"since", "7d"}}, now, Tariff{});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Errc::not_found);
}
