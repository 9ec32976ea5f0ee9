// shadow: advice that is not followed accumulates on a copy, and the modelled saving of acting is reported beside
// reality.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "common/json/value.hpp"
#include "controller/web/saving_json.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

struct ShadowRig : DeciderRig {
  std::vector<std::string> names;

  explicit ShadowRig(int nodes, ModeSetting mode = Mode::shadow)
      : DeciderRig(mode, {.mask = {.start_cap = {.least = 1000}}}) {
    for (int i = 1; i <= nodes; ++i) names.push_back("n" + std::to_string(i));
    for (const std::string& name : names) state.greet(hello_of(name));
    config.repeat_within = 0s;  // each ask is a new attempt
    report(1);
  }
  // Passes `count` seconds with reports.
  void report(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1s);
      ++seq;
      for (const std::string& name : names)
        decider->outcomes().record(name, record_at(seq), state.apply(name, record_at(seq), clock.mono()));
      decider->expire();
    }
  }
  // Loads n1 slightly, so that nodes have different values from the first pod on.
  void load_first_node() {
    decider->placements().described({.uid = "tip", .request = {0, 2e9}});
    decider->placements().bound("tip", "n1", false);
    report(1);
  }
  // Returns the advised node; empty: none.
  std::string ask(const std::string& uid) {
    wire::Ask pod = ask_for(uid, names);
    pod.memory_request_bytes = 1 << 20;
    decider->asks().ask(pod);
    return decider->log().newest(uid)->decision.advice;
  }
};

}  // namespace

TEST_CASE("a node of eight cores is advised to at most eight of fifty one-core pods") {
  for (const bool run : {false, true}) {
    CAPTURE(run);
    ShadowRig rig(7);
    std::map<std::string, int> advised;
    for (int pod = 0; pod < 50; ++pod) {
      const std::string uid = "p" + std::to_string(pod), to = rig.ask(uid);
      REQUIRE(!to.empty());
      ++advised[to];
      // The default scheduler places all of them elsewhere, in turn.
      if (run) rig.decider->placements().placed(uid, rig.names[static_cast<std::size_t>(pod) % 7], false);
    }
    for (const auto& [node, pods] : advised) CHECK(pods <= 8);
    for (int pod = 50; pod < 56; ++pod) ++advised[rig.ask("p" + std::to_string(pod))];
    CHECK(advised.size() == 7);
    CHECK(rig.ask("p56").empty());  // if advice was followed, all nodes are full
    rig.report(1);                  // a repeated ask takes no second slot
    CHECK(!rig.ask("p55").empty());
  }
}

TEST_CASE("an advised pod that never ran frees its room, and so does a pod that ended") {
  ShadowRig rig(1);
  for (int pod = 0; pod < 8; ++pod) CHECK(rig.ask("p" + std::to_string(pod)) == "n1");
  CHECK(rig.ask("late").empty());
  rig.report(31);
  for (int pod = 0; pod < 8; ++pod) {
    CHECK(rig.ask("q" + std::to_string(pod)) == "n1");
    rig.decider->placements().placed("q" + std::to_string(pod), "n1", false);
  }
  CHECK(rig.ask("later").empty());
  rig.decider->placements().gone("q3", "n1");
  rig.report(1);
  CHECK(rig.ask("later") == "n1");
}

TEST_CASE("the advice follows the copy, and learning follows the cluster") {
  ShadowRig rig(2);
  RolloutSpec spec = rig.decider->spec();
  spec.policy = "node-order";
  rig.decider->take(spec);
  rig.load_first_node();
  // All pods are advised to one of the two nodes, and run on the other.
  const std::string to = rig.ask("p0"), other = to == "n1" ? "n2" : "n1";
  rig.decider->placements().placed("p0", other, false);
  for (int pod = 1; pod < 8; ++pod) {
    CHECK(rig.ask("p" + std::to_string(pod)) == to);
    rig.decider->placements().placed("p" + std::to_string(pod), other, false);
  }
  rig.news.clear();
  CHECK(rig.ask("p8") == other);  // the first node is full on the copy; in the cluster it is the other one
  rig.decider->placements().placed("p8", to, false);
  REQUIRE(rig.news.size() == 1);
  const auto* placed = std::get_if<PlacedNews>(&rig.news[0]);
  REQUIRE(placed != nullptr);
  CHECK(placed->observation.valid[placed->action] == 1);
  CHECK(rig.decider->log().newest("p8")->expected.has_value());
  rig.report(5);
  CHECK(rig.decider->figures().outcomes >= 1);
}

TEST_CASE("the saving of acting is modelled in shadow, and survives a restart") {
  ShadowRig rig(3);
  REQUIRE(rig.decider->engine().shadow().saving() != nullptr);
  CHECK_FALSE(rig.decider->engine().shadow().saving()->figure());
  CHECK(modelled_json({rig.decider->engine().shadow().saving(), false, {}})["saving_ratio"].is_null());
  CHECK(modelled_json({rig.decider->engine().shadow().saving(), false, {}})["first_in_s"] == 540);
  for (int pod = 0; pod < 6; ++pod) {
    const std::string uid = "p" + std::to_string(pod), to = rig.ask(uid);
    rig.decider->placements().placed(uid, to == "n1" ? "n2" : "n1", false);
  }
  rig.report(2800);
  const auto figure = rig.decider->engine().shadow().saving()->figure();
  REQUIRE(figure);
  CHECK(figure->now_w > 0);
  CHECK(figure->change.low <= figure->change.mean);
  CHECK(figure->change.mean <= figure->change.high);
  CHECK(figure->advised_ratio == doctest::Approx(1));
  const wattle::SortedJson reported = modelled_json({rig.decider->engine().shadow().saving(), false, {}});
  CHECK(reported["saving_ratio"].get<double>() == doctest::Approx(-figure->change.mean));
  CHECK(reported["saving_low"].get<double>() <= reported["saving_high"].get<double>());
  CHECK(reported["acting_power_w"] == figure->advised_w);
  CHECK(reported["calibration"].is_null());
  CHECK(reported["calibrated_ratio"].is_null());
  const double reach_w = reported["saved_high_w"].get<double>() - reported["saved_w"].get<double>();
  CHECK(reach_w == doctest::Approx(std::sqrt(2.0) * figure->now_w * (figure->change.high - figure->change.mean)));
  const wattle::SortedJson half =
      modelled_json({rig.decider->engine().shadow().saving(), false, Calibration{{0.5, 0.4, 0.6}, 31}});
  CHECK(half["calibration"]["blocks"] == 31);
  CHECK(half["calibrated_ratio"].get<double>() == doctest::Approx(-0.5 * figure->change.mean));
  CHECK(half["calibrated_low"].get<double>() <= half["calibrated_high"].get<double>());
  // A calibration moves the figure, and keeps the interval at least as wide as the model's.
  const wattle::SortedJson exact =
      modelled_json({rig.decider->engine().shadow().saving(), false, Calibration{{0.5, 0.5, 0.5}, 31}});
  CHECK(exact["saved_high_w"].get<double>() - exact["saved_w"].get<double>() == doctest::Approx(reach_w));
  CHECK(half["saving_ratio"] == reported["saving_ratio"]);
  CHECK(modelled_json({}).is_null());
  // The daily saving has a price by the tariff, and none without one.
  constexpr double kDay_s = 86'400, kJoulesPerKwh = 3.6e6;
  const double day_j = kDay_s * reported["saved_w"].get<double>();
  CHECK(reported["energy_j_per_day"].get<double>() == doctest::Approx(day_j));
  CHECK(reported["cost_per_day"].is_null());
  const wattle::SortedJson priced =
      modelled_json({rig.decider->engine().shadow().saving(), false, {}}, Tariff{0.25, 400.0, "EUR"});
  CHECK(priced["cost_per_day"].get<double>() == doctest::Approx(0.25 * day_j / kJoulesPerKwh));
  CHECK(priced["co2_g_per_day"].get<double>() == doctest::Approx(400 * day_j / kJoulesPerKwh));
  CHECK(priced["currency"] == "EUR");

  const std::vector<MonitorState> kept = rig.decider->monitor_states();
  ShadowRig next(3);
  for (const MonitorState& state : kept) CHECK(next.decider->restore(state));
  REQUIRE(next.decider->engine().shadow().saving()->figure());
  CHECK(next.decider->engine().shadow().saving()->figure()->advised_w == figure->advised_w);
  for (std::string text : {"{}", "", "[1]"}) CHECK_FALSE(next.decider->restore({std::string(kSavingRow), text}));

  RolloutSpec spec = rig.decider->spec();
  spec.mode = Mode::live;
  rig.decider->take(spec);
  REQUIRE(rig.decider->engine().shadow().saving() != nullptr);
  CHECK_FALSE(rig.decider->engine().shadow().saving()->figure());  // a separate figure, for choices that are followed
  for (const MonitorState& state : kept) CHECK(rig.decider->restore(state));
  CHECK_FALSE(rig.decider->engine().shadow().saving()->figure());
  spec.mode = Mode::off;
  rig.decider->take(spec);
  CHECK(rig.decider->engine().shadow().saving() == nullptr);
  for (const MonitorState& state : rig.decider->monitor_states()) CHECK(state.name != kSavingRow);
  spec.mode = Mode::shadow;
  rig.decider->take(spec);
  CHECK_FALSE(rig.decider->engine().shadow().saving()->figure());
}

TEST_CASE("a modelled saving with an interval wider than twice the power is not shown") {
  for (const double wake_j : {0.0, 19'000.0}) {
    placement::ModelledSaving modelled({2, placement::ModelledOptions{}.least_blocks, 48, 10});
    for (int i = 0; i < 20; ++i) {
      placement::ComparedLoad load;
      load.now = {400, 0, 0, 10};
      load.advised = {360, 0, i % 5 == 0 ? wake_j : 0, 10};
      load.advised_pods = 10;
      modelled.add(load, 2);
    }
    REQUIRE(modelled.figure());
    const SavingNow now{&modelled, false, {}};
    CAPTURE(now.text());
    CHECK(now.shown().has_value() == (wake_j == 0));
    CHECK(now.text().starts_with(wake_j == 0 ? "would save 40 W (10%)" : "not known yet: the modelled power varies"));
  }
}

TEST_CASE("while Wattle acts, sleeping nodes are part of its saving; in shadow they are a separate saving") {
  placement::ModelledSaving modelled({2, placement::ModelledOptions{}.least_blocks, 48, 10});
  SavingNow now{&modelled, true, {}, {3, 150}};
  CHECK(now.text().starts_with("3 nodes asleep save 150 W, modelled; by placement: not known yet: needs "));
  CHECK(now.total_w() == 150);
  for (int i = 0; i < 20; ++i) {
    placement::ComparedLoad load;
    load.now = {400, 0, 0, 10};
    load.advised = {200, 0, 0, 10};
    load.advised_pods = 10;
    load.asleep_w = 140;
    modelled.add(load, 2);
  }
  CHECK(now.text().starts_with("saves 200 W (50%) ["));
  CHECK(now.text().find("modelled, not calibrated, 140 W of it by nodes asleep, 3 now; pods wait ") !=
        std::string::npos);
  CHECK(now.total_w() == doctest::Approx(200));
  CHECK(now.shown()->placement_w() == doctest::Approx(60));
  now.calibration = Calibration{{0.5, 0.4, 0.6}, 31};  // for placement
  CHECK(now.total_w() == doctest::Approx(140 + 30));
  now = {&modelled, false, {}, {3, 150}};
  CHECK(now.text().starts_with("3 nodes asleep save 150 W, modelled; by placement: would save 200 W (50%) ["));
  CHECK(now.total_w() == doctest::Approx(350));
  CHECK(modelled_json(now)["total_saved_w"].get<double>() == doctest::Approx(350));
}

TEST_CASE("a placement that costs energy is reported as using more") {
  placement::ModelledSaving modelled({2, placement::ModelledOptions{}.least_blocks, 48, 10});
  for (int i = 0; i < 20; ++i) {
    placement::ComparedLoad load;
    load.now = {400, 0, 0, 10};
    load.advised = {420, 0, 0, 10};
    load.advised_pods = 10;
    modelled.add(load, 2);
  }
  CHECK(SavingNow{&modelled, true, {}}.text().starts_with("uses 20 W more (5.0%) ["));
  CHECK(SavingNow{&modelled, false, {}}.text().starts_with("would use 20 W more (5.0%) ["));
}

TEST_CASE("in mode live the default scheduler's choices are modelled beside Wattle's") {
  ShadowRig rig(3, Mode::live);
  RolloutSpec spec = rig.decider->spec();
  spec.policy = "node-order";
  rig.decider->take(spec);
  rig.load_first_node();
  CHECK(rig.decider->engine().shadow().default_power_ratio() == 1);  // no pod runs elsewhere yet
  // Wattle fills one node; the default scheduler would spread the pods over three.
  for (int pod = 0; pod < 6; ++pod) {
    const std::string uid = "p" + std::to_string(pod);
    rig.decider->placements().placed(uid, rig.ask(uid), false);
  }
  rig.report(2800);
  const auto figure = rig.decider->engine().shadow().saving()->figure();
  REQUIRE(figure);
  CHECK(figure->advised_ratio == doctest::Approx(6.0 / 7));  // "tip" was bound without an ask
  REQUIRE(rig.decider->engine().shadow().default_power_ratio());
  CHECK(*rig.decider->engine().shadow().default_power_ratio() ==
        doctest::Approx(figure->now_w / figure->advised_w).epsilon(0.01));
  const SavingNow uncalibrated{rig.decider->engine().shadow().saving(), true, {}};
  CHECK(uncalibrated.text().find("modelled, not calibrated; pods wait ") != std::string::npos);
  REQUIRE(uncalibrated.shown());
  CHECK(uncalibrated.shown()->ratio.mean == doctest::Approx(-figure->change.mean));
  CHECK(modelled_json(uncalibrated)["saved_w"].get<double>() == doctest::Approx(figure->now_w - figure->advised_w));
  CHECK(modelled_json(uncalibrated)["saving_ratio"].get<double>() == doctest::Approx(-figure->change.mean));
  const SavingNow now{rig.decider->engine().shadow().saving(), true, Calibration{{1, 0.9, 1.1}, 31}};
  const wattle::SortedJson reported = modelled_json(now);
  CHECK(reported["acting"] == true);
  CHECK(reported["saved_w"].get<double>() == doctest::Approx(figure->now_w - figure->advised_w));
  CHECK(reported["saved_low_w"].get<double>() <= reported["saved_high_w"].get<double>());
  CHECK(now.text().starts_with(now.shown()->ratio.mean >= 0 ? "saves " : "uses "));
  CHECK(now.text().find("modelled, calibrated by 31 canary blocks; pods wait ") != std::string::npos);
  CHECK(SavingNow{rig.decider->engine().shadow().saving(), false, Calibration{{0.5, 0.4, 0.6}, 31}}.text().find(
            "modelled, calibrated by 31 canary blocks; pods would wait ") != std::string::npos);
  CHECK(SavingNow{}.text() == "not modelled: mode is off");

  const std::vector<MonitorState> kept = rig.decider->monitor_states();
  ShadowRig next(3, Mode::live);
  next.decider->take(spec);
  for (const MonitorState& state : kept) CHECK(next.decider->restore(state));
  REQUIRE(next.decider->engine().shadow().saving()->figure());
  CHECK(next.decider->engine().shadow().saving()->figure()->now_w == figure->now_w);
}

TEST_CASE("advice from before a restart keeps its node on the copy once its nodes are known") {
  ShadowRig before(2);
  RolloutSpec spec = before.decider->spec();
  spec.policy = "node-order";
  before.decider->take(spec);
  before.load_first_node();
  const std::string to = before.ask("p0"), other = to == "n1" ? "n2" : "n1";
  for (int pod = 1; pod < 8; ++pod) CHECK(before.ask("p" + std::to_string(pod)) == to);
  for (const bool recalled : {true, false}) {
    CAPTURE(recalled);
    ShadowRig after(2);
    after.decider->take(spec);
    after.load_first_node();
    if (recalled)
      for (const LoggedDecision& entry : before.decider->log().entries()) after.decider->recall(entry);
    for (int pod = 0; pod < 8; ++pod)
      after.decider->placements().described({.uid = "p" + std::to_string(pod), .request = {1, 1e6}});
    for (int pod = 0; pod < 8; ++pod) after.decider->placements().bound("p" + std::to_string(pod), other, false);
    after.report(12);
    CHECK(after.ask("p8") == (recalled ? other : to));  // full on the copy, or in the cluster
  }
}

TEST_CASE("if every pod runs where it was advised, the modelled saving is zero") {
  ShadowRig rig(3);
  for (int pod = 0; pod < 6; ++pod) {
    const std::string uid = "p" + std::to_string(pod);
    rig.decider->placements().placed(uid, rig.ask(uid), false);
  }
  rig.report(2800);
  const auto figure = rig.decider->engine().shadow().saving()->figure();
  REQUIRE(figure);
  CHECK(figure->change.low == 0);
  CHECK(figure->change.high == 0);
  CHECK(figure->now_w == figure->advised_w);
}

TEST_CASE("each control block replays advice on a copy that starts with the block; treated blocks do not") {
  ShadowRig rig(3, {Mode::canary, 0.5});
  rig.load_first_node();
  std::set<std::uint64_t> control;
  bool treated = false, differs = false;
  int pod = 0;
  std::optional<placement::ComparedEnergy> before;
  std::uint64_t block_before = 0;
  for (int step = 0; step < 4 * 30 * 2; ++step) {
    rig.report(30);
    const std::uint64_t block = block_at(rig.decider->spec().schedule, rig.clock.wall()).number;
    const auto compared = rig.decider->engine().shadow().compared();
    CHECK(rig.decider->engine().shadow().saving() != nullptr);
    CHECK(compared.has_value() == (rig.decider->arm().arm == Arm::control));
    treated = treated || !compared;
    if (compared) {
      control.insert(block);
      CHECK(compared->seconds <= 30 * 60 + 1);
      if (before && block == block_before) CHECK(compared->seconds > before->seconds);
      differs = differs || compared->now_j != compared->advised_j;
    }
    before = compared;
    block_before = block;
    if (step % 4 != 0) continue;
    const std::string uid = "p" + std::to_string(pod++), to = rig.ask(uid);
    if (!to.empty()) rig.decider->placements().placed(uid, to == "n1" ? "n2" : "n1", false);
    if (pod > 6) rig.decider->placements().gone("p" + std::to_string(pod - 6), "n1");
    if (pod > 6) rig.decider->placements().gone("p" + std::to_string(pod - 6), "n2");
  }
  CHECK(control.size() >= 1);
  CHECK(treated);
  CHECK(differs);
}
