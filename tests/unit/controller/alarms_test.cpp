// alarms: one line per problem, the worst first, and idle energy with its cost.
#include "controller/web/alarms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "controller/web/fleet_json.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/controller/parts_rig.hpp"
#include "tests/unit/controller/store_rig.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> kinds(PartsRig& rig) {
  const auto sums = std::make_shared<FleetSums>();
  finish(sum_fleet(rig.parts(), sums));
  std::vector<std::string> out;
  for (const Alarm& alarm : alarms(rig.parts(), *sums)) out.push_back(alarm.what);
  return out;
}

struct NoResidual final : models::QNetwork {
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  std::uint64_t step() const override { return 5; }
};

// Mode live with candidates that are measured; n1 runs a pod that waits half its time, 50 ms from its users.
struct TroubledRig : PartsRig {
  TroubledRig() : PartsRig(Mode::live) {
    config.measure_candidates = true;
    decider.emplace(
        config, state, networks, verdicts, clock, [](LearningNews) {}, 1);
    networks.trust(std::make_shared<NoResidual>(),
                   {"trusted", "shipped:weighted", "weighted", "shipped:weighted", "why"});
    begin();
    wire::Ask ask = ask_for("p1", {"n1", "n2"});
    ask.latency_soft_ms = 10;
    decider->asks().ask(ask);
    for (int i = 0; i < 5; ++i) second();
  }
  void second() {
    clock.advance(1s);
    ++seq;
    Record record = record_of("n1", seq);
    record.node.pressure.cpu_some_ratio = 0.5;
    record.workloads = {pod_values("p1", 800'000)};
    record.probes = {{"default", 50.0, 60.0, 1.0, 0.0, 5}};
    for (const std::string& uid : state.apply("n1", record, clock.mono()).appeared)
      decider->placements().placed(uid, "n1", false);
    state.apply("n2", record_of("n2", seq), clock.mono());
    decider->expire();
  }
  void limit_lateness(double ratio) {
    RolloutSpec spec = decider->spec();
    spec.limits.late = ratio;
    decider->take(spec);
    second();
  }
  // As if measured blocks had shown that the network costs more.
  void withdraw() {
    for (const MonitorState& each : decider->monitor_states()) {
      if (each.name != kCandidatesRow) continue;
      CandidatesState kept = parse_candidates(each.text).value();
      auto& network = kept.state.arms.arms[static_cast<std::size_t>(placement::Candidate::baseline)];
      network.withdrawals = 1;
      network.rests_until = 1'000'000;
      kept.network = "shipped:weighted";
      REQUIRE(decider->restore({std::string(kCandidatesRow), candidates_text(kept)}));
    }
    second();
  }
};

}  // namespace

TEST_CASE("each problem is an alarm, the worst first: store, budgets, shims, nodes, network") {
  sqlite::testing::CrashDisk disk;
  const SystemClock real;  // of the store's writer
  TroubledRig rig;
  CHECK(kinds(rig) == std::vector<std::string>{"cpu_wait"});
  rig.limit_lateness(0.9);
  CHECK(kinds(rig) == std::vector<std::string>{"cpu_wait", "late"});
  rig.limit_lateness(0.001);  // exceeded by a larger factor than the budget of waiting
  CHECK(kinds(rig) == std::vector<std::string>{"late", "cpu_wait"});
  rig.withdraw();
  REQUIRE(rig.shims.beat("shim/a", {{"host", "h"}}, rig.clock.mono()));
  rig.clock.advance(60s);
  StoreOptions options;
  options.file.path = "store.db";
  options.file.database.vfs = sqlite::testing::CrashDisk::kName;
  options.commit_every = options.retry_every = 1ms;
  const auto without = std::exchange(rig.store, Store::start(options, real, rig.log).value());
  CHECK(kinds(rig) == std::vector<std::string>{"late", "cpu_wait", "shim", "nodes", "network"});
  disk.full = true;
  rig.store->add(item("n1", 1));
  until(*rig.store, [](const StoreFigures& at) { return !at.problem.empty(); });
  CHECK(kinds(rig) == std::vector<std::string>{"store", "late", "cpu_wait", "shim", "nodes", "network"});
  const wattle::SortedJson all = rig.get("status").value()["alarms"];
  const auto has = [&](std::size_t i, const std::string& text, const std::string& view, const std::string& command) {
    CAPTURE(all[i]["text"].get<std::string>());
    CHECK(all[i]["text"].get<std::string>().find(text) != std::string::npos);
    CHECK(all[i]["view"] == view);
    CHECK(all[i]["command"] == command);
  };
  has(0, "the store accepts no records: ", "health", "wattle doctor");
  has(1, "times the budget of 0.1%", "saving", "wattle policy get");
  has(2, "pods wait for CPU for ", "saving", "wattle policy get");
  has(5, "the initial network is withdrawn", "learning", "wattle model list");
  disk.full = false;  // so that the writer can end
}

TEST_CASE("there is no alarm when all is well; a silent node or shim raises one") {
  PartsRig rig(Mode::live);
  rig.state.greet(hello_of("n1"));
  rig.clock.advance(1s);
  rig.state.apply("n1", record_at(1), rig.clock.mono());
  CHECK(kinds(rig).empty());
  CHECK(rig.get("status").value()["alarms"].empty());
  REQUIRE(rig.shims.beat("shim/a", {{"host", "h"}}, rig.clock.mono()));
  CHECK(kinds(rig).empty());
  rig.clock.advance(60s);
  CHECK(kinds(rig) == std::vector<std::string>{"shim", "nodes"});
  const wattle::SortedJson alarm = rig.get("status").value()["alarms"][0];
  CHECK(alarm["text"].get<std::string>().find("the shim shim/a on h is silent") == 0);
  CHECK(alarm["view"] == "health");
  CHECK(alarm["command"] == "wattle doctor");
}

TEST_CASE("overload raises an alarm, a finding with a fix, and a metric, until it is over") {
  PartsRig rig(Mode::live);
  const auto telemetry = [&] {
    const wattle::SortedJson doctor = rig.get("doctor").value();
    for (const auto& finding : doctor["controller"]["findings"])
      if (finding["name"] == "telemetry") return finding;
    return wattle::SortedJson();
  };
  CHECK(telemetry()["state"] == "ok");
  rig.telemetry.shed({2500ms, 4});
  CHECK(kinds(rig) == std::vector<std::string>{"overload"});
  CHECK(rig.get("status").value()["alarms"][0]["text"].get<std::string>().find("every 2.5 s") != std::string::npos);
  CHECK(telemetry()["state"] == "lost");
  CHECK(telemetry()["fix"].get<std::string>().find("CPU") != std::string::npos);
  CHECK(finished(metrics_text(rig.parts()))->find("\nwattle_controller_overload_tick_seconds 2.5\n") !=
        std::string::npos);
  rig.telemetry.shed({});
  CHECK(kinds(rig).empty());
  CHECK(telemetry()["state"] == "ok");
}

TEST_CASE("metrics have the tariff, for queries that convert energy, and no series without one") {
  PartsRig rig(Mode::live);
  CHECK(finished(metrics_text(rig.parts()))->find("wattle_controller_tariff") == std::string::npos);
  rig.config.tariff = {0.25, 400, "EUR"};
  const std::string metrics = finished(metrics_text(rig.parts())).value();
  CHECK(metrics.find("\nwattle_controller_tariff_price_per_kwh{currency=\"EUR\"} 0.25\n") != std::string::npos);
  CHECK(metrics.find("\nwattle_controller_tariff_co2_grams_per_kwh 400\n") != std::string::npos);
}

TEST_CASE("the alarm about idle energy has its cost, and the one about sleep has its assumption") {
  FleetSums sums;
  CHECK(idle_json({}, sums, {})["power_w"].is_null());
  CHECK(idle_json({}, sums, {})["sleeping"]["power_w"] == 0.0);
  sums.measured_w = 500;
  sums.idle_w = 400;
  const wattle::SortedJson idle = idle_json({0.25, 400, "EUR"}, sums, {2, 100, "two nodes slept"});
  CHECK(idle["ratio"] == 0.8);
  CHECK(idle["energy_j_per_day"] == 400.0 * 86'400);
  CHECK(idle["cost_per_day"].get<double>() == doctest::Approx(400 * 24 / 1000.0 * 0.25));
  CHECK(idle["sleeping"]["power_w"] == 100.0);
  CHECK(idle["sleeping"]["nodes"] == 2);
  CHECK(idle["sleeping"]["co2_g_per_day"].get<double>() == doctest::Approx(2.4 * 400));
  CHECK(idle["sleeping"]["assumption"] == "two nodes slept");
}
