// power_store: records of sleeping nodes in the controller's store on disk.
#include "controller/power/power_store.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "controller/power/power_records.hpp"
#include "controller/store/store.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::power;
namespace core = wattle::placement::sleep;

namespace {

struct StoredRig {
  wattle::test::TempDir dir;
  ManualClock clock{MonoTime{}, wall_from_ns(1'800'000'000'000'000'000)};
  Log log = Log::silent();
  std::unique_ptr<Store> store;
  std::unique_ptr<PowerRecords> records;

  StoredRig() { open(); }
  void open() {
    records.reset();
    store.reset();
    StoreOptions options;
    options.file.path = dir.file("store.db");
    store = Store::start(options, clock, log).value();
    records = std::make_unique<PowerRecords>(power_store_in(*store), clock, log);
    REQUIRE(records->load());
  }
  void put(const std::string& node, core::PowerState state, std::uint64_t operation) {
    core::NodePowerRecord record;
    record.node = node;
    record.state = state;
    record.operation = operation;
    record.since = clock.wall();
    record.reason = "because";
    records->put(record);
  }
  void written() {
    REQUIRE(tests::wait_until([&] {
      records->turn();
      return records->stored("n1") && records->sums_stored();
    }));
  }
};

}  // namespace

TEST_CASE_FIXTURE(StoredRig, "sleep records: records, transitions, totals and moves survive a restart") {
  records->greeted("n1", "a hello");
  put("n1", core::PowerState::awake, 0);
  put("n1", core::PowerState::idle, 1);
  put("n1", core::PowerState::awake, 1);
  records->change_totals().saved_j = 12.5;
  records->change_totals().failures["refused"] = 3;
  records->change_ledger().moved("p1", "shop/ReplicaSet/web", clock.wall());
  CHECK_FALSE(records->stored("n1"));
  written();
  open();
  REQUIRE(records->find("n1") != nullptr);
  CHECK(records->find("n1")->operation == 1);
  CHECK(records->hellos().at("n1") == "a hello");
  REQUIRE(records->history().size() == 2);  // the first record is no transition
  CHECK(records->history().back() ==
        SleepTransition{clock.wall(), "n1", core::PowerState::idle, core::PowerState::awake, "because", 1});
  CHECK(records->totals().saved_j == 12.5);
  CHECK(records->totals().failures.at("refused") == 3);
  CHECK(records->ledger().moves_within(clock.wall(), std::chrono::hours(1)) == 1);
  CHECK(records->ledger().rests("p1", "", clock.wall(), {}).cause == core::ExcludedFor::moved_recently);
}

TEST_CASE_FIXTURE(StoredRig, "sleep records: the history keeps its newest transitions, in memory and on disk") {
  put("n1", core::PowerState::awake, 0);
  for (std::uint64_t i = 1; i <= kMostTransitions + 50; ++i)
    put("n1", i % 2 == 0 ? core::PowerState::awake : core::PowerState::idle, i);
  CHECK(records->history().size() == kMostTransitions);
  written();
  open();
  CHECK(records->history().size() == kMostTransitions);
  CHECK(records->history().back().operation == kMostTransitions + 50);
}

TEST_CASE_FIXTURE(StoredRig,
                  "sleep records: a damaged record becomes unknown, marked and owned, so that its node returns") {
  put("n1", core::PowerState::asleep, 7);
  written();
  records.reset();
  store.reset();
  sqlite3* raw = nullptr;
  REQUIRE(sqlite3_open(dir.file("store.db").c_str(), &raw) == SQLITE_OK);
  CHECK(sqlite3_exec(raw, "UPDATE sleep_node SET record = x'00'", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(raw);
  open();
  REQUIRE(records->find("n1") != nullptr);
  CHECK(records->find("n1")->state == core::PowerState::unknown);
  CHECK(records->find("n1")->marked);
  CHECK(records->find("n1")->ours);
}
