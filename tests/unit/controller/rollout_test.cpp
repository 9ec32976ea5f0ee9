// rollout: the spec in force, who may change it, and when an acting mode is stopped.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "common/json/value.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/store/traces.hpp"
#include "tests/full_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

namespace {

struct Folder {
  std::string path;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "wattle-rollout-XXXXXX").string();
    REQUIRE(mkdtemp(path.data()) != nullptr);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file() const { return path + "/control.db"; }
};

using Events = std::vector<RolloutEvent>;

constexpr std::int64_t kStart_ns = 1'800'000'000LL * 1'000'000'000;

struct RolloutRig {
  ManualClock clock{mono_from_ns(1), wall_from_ns(kStart_ns)};
  Log log = Log::silent();
  std::optional<RolloutManager> rollout;
  explicit RolloutRig(ModeSetting mode = Mode::shadow, const std::string& path = "") { open(mode, path); }
  void open(ModeSetting mode, const std::string& path) {
    RolloutSpec configured;
    configured.mode = mode;
    rollout.reset();
    auto opened = RolloutManager::open_(configured, path, {}, clock, log);
    REQUIRE(opened);
    rollout.emplace(std::move(*opened));
  }
  // Passes blocks: treated ones draw `treated_w`, control ones `control_w`, with noise. In control blocks the model
  // predicts `modelled_ratio` of the power for acting.
  void pass_blocks(int blocks, double treated_w, double control_w, double modelled_ratio = 1) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0, 0.02);
    placement::ComparedEnergy compared;
    for (int i = 0; i < blocks; ++i) {
      const double factor = 1 + noise(random);
      for (int minute = 0; minute < 360; ++minute) {
        clock.advance(5s);
        ClusterNow now;
        now.nodes = now.watched = 4;
        now.requested_cores = 20;
        now.power_w = factor * (rollout->arm().arm == Arm::treated ? treated_w : control_w);
        if (rollout->arm().arm == Arm::control) {
          placement::ComparedLoad load;
          load.now.power_w = control_w;
          load.advised.power_w = control_w * modelled_ratio * (1 + 0.001 * (i % 3));
          compared.add(load, 5, 10);
          now.compared = compared;
        } else {
          compared = {};
        }
        rollout->watch(now);
      }
    }
  }
  Result<json> handle(const std::string& what, const std::map<std::string, std::string>& arguments) {
    auto body = rollout->handle(what, arguments, "operator/ann");
    if (!body) return forward_error(body);
    return json::parse(*body);
  }
};

double drawn(std::mt19937_64& random, double mean = 0) { return std::normal_distribution<double>(mean, 1)(random); }

}  // namespace

TEST_CASE("a change survives a restart until the configuration changes, and the block continues") {
  const Folder folder;
  RolloutRig rig(Mode::shadow, folder.file());
  REQUIRE(rig.handle(
      "policy-set",
      {{"mode", "canary:50%"}, {"policy", "planner"}, {"weight.energy", "3"}, {"force", "yes"}, {"why", "try"}}));
  rig.clock.advance(47min);
  const RolloutSpec before = rig.rollout->spec();
  const Block block = block_at(before.schedule, rig.clock.wall());
  rig.open(Mode::shadow, folder.file());
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::canary, 0.5));
  CHECK(rig.rollout->spec().policy == "planner");
  CHECK(rig.rollout->spec().reward.weights.energy == 3);
  const Block after = block_at(rig.rollout->spec().schedule, rig.clock.wall());
  CHECK(after.number == block.number);
  CHECK(after.treated == block.treated);
  CHECK(spec_text(rig.rollout->spec()) == spec_text(before));
  rig.open(Mode::live, folder.file());
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::live));
  CHECK(rig.rollout->spec().policy == "dqn");
  const json document = rig.rollout->document();
  REQUIRE(document["changes"].size() == 3);
  CHECK(document["changes"][0]["who"] == "configuration");
  CHECK(document["changes"][1]["who"] == "operator/ann");
  CHECK(document["changes"][1]["why"] == "try");
  CHECK(document["changes"][0]["why"] == "the configuration sets mode live: gates were skipped");
  CHECK(document["changes"][1]["what"] ==
        "mode shadow -> canary:50%, policy dqn -> planner, weight.energy 1 -> 3, forced despite: 0 of 100 decisions "
        "needed for a canary");
  CHECK(document["changes"][0]["what"] ==
        "the configuration changed: mode canary:50% -> live, policy planner -> dqn, weight.energy 3 -> 1");
}

TEST_CASE("a canary measures the saving of its treated blocks, and a significant saving opens the gate to live") {
  const Folder folder;
  RolloutRig rig({Mode::canary, 0.5}, folder.file());
  CHECK(rig.rollout->document()["promotion"]["open"] == false);
  CHECK_FALSE(rig.handle("policy-promote", {}));
  rig.pass_blocks(41, 900, 1000);
  const EffectEstimate saving = rig.rollout->effect();
  CHECK(saving.treated + saving.control == 41);
  REQUIRE(saving.ratio);
  CHECK(*saving.ratio == doctest::Approx(0.1).epsilon(0.15));
  CHECK(*saving.low > 0);
  CHECK(rig.rollout->document()["promotion"]["open"] == true);
  // Blocks survive the process.
  rig.open({Mode::canary, 0.5}, folder.file());
  CHECK(rig.rollout->effect().ratio == doctest::Approx(*saving.ratio).epsilon(1e-6));
  REQUIRE(rig.handle("policy-promote", {}));
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::live));
  CHECK_FALSE(rig.rollout->effect().ratio.has_value());  // the new experiment has no evidence yet
  CHECK_FALSE(rig.handle("policy-promote", {}));
}

TEST_CASE("the calibration of a canary survives restarts and changes of mode, for its policy and reward only") {
  const Folder folder;
  RolloutRig rig({Mode::canary, 0.5}, folder.file());
  CHECK_FALSE(rig.rollout->calibration());
  rig.pass_blocks(41, 900, 1000, 0.8);
  const auto reported = rig.rollout->calibration();
  REQUIRE(reported);
  CHECK(reported->ratio.mean == doctest::Approx(0.5).epsilon(0.15));  // 10% of the 20% that were modelled
  CHECK(reported->ratio.low > 0);
  CHECK(reported->blocks == 41);
  const auto same = [&] {
    const auto now = rig.rollout->calibration();
    REQUIRE(now);
    CHECK(now->ratio.mean == doctest::Approx(reported->ratio.mean).epsilon(1e-6));
    CHECK(now->blocks == reported->blocks);
  };
  rig.open({Mode::canary, 0.5}, folder.file());
  same();
  REQUIRE(rig.handle("policy-set", {{"mode", "shadow"}}));
  same();
  rig.open({Mode::canary, 0.5}, folder.file());
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  same();
  REQUIRE(rig.handle("policy-set", {{"policy", "planner"}}));
  CHECK_FALSE(rig.rollout->calibration());
  REQUIRE(rig.handle("policy-set", {{"policy", "dqn"}}));
  same();
}

TEST_CASE("an unearned promotion is refused and recorded; force needs a reason") {
  RolloutRig rig;
  const auto refused = rig.handle("policy-promote", {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::denied);
  CHECK(rig.rollout->document()["changes"][0]["what"] == "promotion to canary:10% refused");
  CHECK_FALSE(rig.handle("policy-promote", {{"force", "yes"}}));
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  REQUIRE(rig.handle("policy-promote", {{"force", "yes"}, {"why", "a test cluster"}}));
  CHECK(rig.rollout->spec().mode.text() == "canary:10%");
  for (int i = 0; i < 100; ++i) rig.rollout->decided({Arm::shadow, true}, 0);
  RolloutRig earned;
  for (int i = 0; i < 100; ++i) earned.rollout->decided({Arm::shadow, true}, 0);
  CHECK(earned.handle("policy-promote", {}));
}

TEST_CASE("no order bypasses a gate: the refusal names the gate, its condition and the fix, and force needs a reason") {
  const auto refusal = [](RolloutRig& rig, const std::map<std::string, std::string>& arguments) {
    const auto refused = rig.handle("policy-set", arguments);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::denied);
    return refused.error().message();
  };
  RolloutRig off(Mode::off);
  CHECK(refusal(off, {{"mode", "live"}}).find("shadow is the next mode") != std::string::npos);
  REQUIRE(off.handle("policy-set", {{"mode", "shadow"}}));
  RolloutRig rig;
  std::string text = refusal(rig, {{"mode", "live"}, {"why", "now"}});
  for (const char* part : {"mode live", "canary:10% is the next mode", "0 of 100 decisions", "--force --why"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part, " in ", text);
  CHECK(rig.rollout->document()["changes"][0]["what"] == "promotion to live refused");
  CHECK(rig.rollout->document()["changes"][0]["who"] == "operator/ann");
  CHECK(refusal(rig, {{"mode", "canary:50%"}}).find("0 of 100 decisions") != std::string::npos);
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  for (int i = 0; i < 100; ++i) rig.rollout->decided(rig.rollout->arm(), 0);
  CHECK(refusal(rig, {{"mode", "canary:50%"}, {"policy", "planner"}}).find("change these first") != std::string::npos);
  REQUIRE(rig.handle("policy-set", {{"mode", "canary:50%"}}));  // the gate is open
  CHECK(refusal(rig, {{"mode", "live"}}).find("measured blocks: 0 treated") != std::string::npos);
  REQUIRE(rig.handle("policy-set", {{"mode", "canary:95%"}}));  // a larger share is the same mode
  const auto unexplained = rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}});
  REQUIRE_FALSE(unexplained);
  CHECK(unexplained.error().message().find("--why") != std::string::npos);
  REQUIRE(rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "a demo"}}));
  const json forced = rig.rollout->document()["changes"][0];
  CHECK(forced["who"] == "operator/ann");
  CHECK(forced["why"] == "a demo");
  CHECK(forced["what"].get<std::string>().starts_with("mode canary:95% -> live, forced despite: measured blocks"));
  REQUIRE(rig.handle("policy-set", {{"mode", "off"}}));  // a lower mode is always allowed
}

TEST_CASE("a rollback does not restore, without a gate, what the guard withdrew") {
  RolloutRig rig(Mode::live);
  CHECK_FALSE(rig.rollout->decided({Arm::live, true}, INFINITY));
  REQUIRE(rig.rollout->spec().mode.mode == Mode::shadow);
  const auto refused = rig.handle("policy-rollback", {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("canary:10% is the next mode") != std::string::npos);
  REQUIRE(rig.handle("policy-rollback", {{"force", "yes"}, {"why", "another network serves"}}));
  CHECK(rig.rollout->spec().mode.mode == Mode::live);
}

TEST_CASE("a manual rollback restores the previous spec, or that of a change by its number") {
  RolloutRig rig;
  CHECK_FALSE(rig.handle("policy-rollback", {}));
  REQUIRE(rig.handle("policy-set", {{"policy", "planner"}}));                              // 2
  REQUIRE(rig.handle("policy-set", {{"policy", "amortised"}}));                            // 3
  REQUIRE(rig.handle("policy-rollback", {{"why", std::string(2000, 's') + "\xff\xc3"}}));  // arbitrary user input
  CHECK(rig.rollout->document()["changes"][0]["why"].get<std::string>().size() <= 500);
  CHECK(rig.rollout->spec().policy == "planner");
  REQUIRE(rig.handle("policy-rollback", {{"to", "1"}}));
  CHECK(rig.rollout->spec().policy == "dqn");
  CHECK_FALSE(rig.handle("policy-rollback", {{"to", "77"}}));
  CHECK_FALSE(rig.handle("policy-rollback", {{"to", "x"}}));
  CHECK_FALSE(rig.handle("policy-set", {{"polcy", "planner"}}));
  CHECK_FALSE(rig.handle("policy-dance", {}));
  REQUIRE(rig.handle("policy-set", {{"policy", "dqn"}}));  // nothing new: no change
  CHECK(rig.rollout->document()["changes"].size() == 5);
}

TEST_CASE("falling rewards while acting roll back to shadow within fifty placements, once, with an audit record") {
  RolloutRig rig(Mode::live);
  std::mt19937_64 random(17);
  for (int i = 0; i < 600; ++i) rig.rollout->judged({Arm::shadow, true}, drawn(random));
  for (int i = 0; i < 1000; ++i) rig.rollout->judged({Arm::live, true}, drawn(random));
  CHECK(rig.rollout->take_events().empty());
  for (int i = 0; i < 500; ++i) rig.rollout->judged({Arm::live, false}, -9);  // the washout does not count
  CHECK(rig.rollout->take_events().empty());
  int placements = 0;
  while (rig.rollout->spec().mode.mode == Mode::live && placements < 51) {
    rig.rollout->judged({Arm::live, true}, drawn(random, -2));
    ++placements;
  }
  CHECK(placements <= 50);
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.rollout->take_events() == Events{RolloutEvent::spec_changed, RolloutEvent::network_withdrawn});
  CHECK(rig.rollout->figures().rollbacks == 1);
  const json change = rig.rollout->document()["changes"][0];
  CHECK(change["who"] == "guard");
  CHECK(change["what"] == "rolled back: mode live -> shadow");
  // Later rewards in shadow cause no second rollback.
  for (int i = 0; i < 100; ++i) rig.rollout->judged({Arm::shadow, true}, -9);
  CHECK(rig.rollout->take_events().empty());
}

TEST_CASE("a network with invalid output is stopped at once, and recorded once in shadow") {
  for (const double residual : {1e9, static_cast<double>(INFINITY)}) {
    RolloutRig rig(Mode::live);
    CHECK(rig.rollout->decided({Arm::live, true}, 5));
    CHECK_FALSE(rig.rollout->decided({Arm::live, true}, residual));
    CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
    const std::size_t changes = rig.rollout->document()["changes"].size();
    for (int i = 0; i < 200; ++i) CHECK_FALSE(rig.rollout->decided({Arm::shadow, true}, residual));
    CHECK(rig.rollout->document()["changes"].size() == changes);
    CHECK(rig.rollout->document()["promotion"]["open"] == false);
  }
}

TEST_CASE("a promotion to an acting mode keeps the network, and every rollback restores it") {
  RolloutRig rig(Mode::off);
  const Events promoted{RolloutEvent::spec_changed, RolloutEvent::network_promoted};
  const Events withdrawn{RolloutEvent::spec_changed, RolloutEvent::network_withdrawn};
  REQUIRE(rig.handle("policy-promote", {}));  // to shadow: nothing acts
  CHECK(rig.rollout->take_events() == Events{RolloutEvent::spec_changed});
  REQUIRE(rig.handle("policy-promote", {{"force", "yes"}, {"why", "a test"}}));
  CHECK(rig.rollout->take_events() == promoted);
  REQUIRE(rig.handle("policy-rollback", {}));
  CHECK(rig.rollout->take_events() == withdrawn);
  REQUIRE(rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "a test"}}));
  CHECK(rig.rollout->take_events() == promoted);
  CHECK_FALSE(rig.rollout->decided(rig.rollout->arm(), INFINITY));
  CHECK(rig.rollout->take_events() == withdrawn);
}

TEST_CASE("an expression is set at run time, kept, and refused with the wrong term") {
  const Folder folder;
  RolloutRig rig(Mode::shadow, folder.file());
  const auto wrong = rig.handle("policy-set", {{"reward", "expression"}, {"expression", "energie"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("'energie' is not a term") != std::string::npos);
  CHECK_FALSE(rig.handle("policy-set", {{"reward", "expression"}}));  // no formula
  const auto set = rig.handle("policy-set", {{"reward", "expression"}, {"expression", "energy + 2 * latency"}});
  if (!set) FAIL(set.error().message());
  CHECK((*set)["reward"]["expression"] == "energy + 2 * latency");
  CHECK((*set)["changes"][0]["what"] == "reward weighted -> expression, expression none -> \"energy + 2 * latency\"");
  rig.open(Mode::shadow, folder.file());
  CHECK(rig.rollout->spec().reward.preset == placement::Preset::expression);
  CHECK(rig.rollout->spec().reward.formula.text() == "energy + 2 * latency");
  CHECK_FALSE(rig.handle("policy-set", {{"expression", "energy + 2 * latency"}}).value()["changes"].empty());
  CHECK(rig.handle("policy-set", {{"expression", "energy"}}).value()["changes"][0]["what"] ==
        "expression \"energy + 2 * latency\" -> \"energy\"");
}

TEST_CASE("a damaged control file stops acting until an operator's order, whatever the configuration") {
  const std::string lost = "control.db is empty, but cluster-model is from a previous controller";
  for (const Mode configured : {Mode::live, Mode::canary, Mode::shadow, Mode::off}) {
    CAPTURE(to_string(configured));
    const Folder folder;
    RolloutRig rig;
    RolloutSpec spec;
    spec.mode = configured;
    const auto open = [&] {
      rig.rollout.reset();
      auto opened = RolloutManager::open_(spec, folder.file(), {}, rig.clock, rig.log, lost);
      REQUIRE(opened);
      rig.rollout.emplace(std::move(*opened));
    };
    open();
    CHECK(rig.rollout->spec().mode.mode == (configured == Mode::off ? Mode::off : Mode::shadow));
    CHECK(rig.rollout->lost() == lost);
    CHECK(rig.rollout->document()["changes"][0]["why"] == lost);
    open();  // also after the next restart
    CHECK(rig.rollout->spec().mode.mode == (configured == Mode::off ? Mode::off : Mode::shadow));
    REQUIRE(rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "looked"}}));
    CHECK(rig.rollout->spec().mode.mode == Mode::live);
    CHECK(rig.rollout->lost().empty());
    open();
    CHECK(rig.rollout->spec().mode.mode == Mode::live);
  }
}

TEST_CASE("an order to stop applies at once on a full disk, reports the failure, and is written later") {
  const std::vector<std::map<std::string, std::string>> orders = {
      {{"mode", "off"}}, {{"mode", "shadow"}}, {{"mode", "canary:10%"}}};
  for (const auto& order : orders) {
    CAPTURE(order.at("mode"));
    const Folder folder;
    RolloutRig rig(Mode::live, folder.file());
    {
      const tests::FullDisk full;
      const auto stopped = rig.handle("policy-set", order);
      REQUIRE_MESSAGE(stopped, stopped.error().message());
      CHECK((*stopped)["mode"] == order.at("mode"));
      CHECK((*stopped)["durable"] == false);
      CHECK((*stopped)["unwritten"]["changes"] == 1);
      CHECK_FALSE((*stopped)["unwritten"]["error"].get<std::string>().empty());
      CHECK((*stopped)["changes"][0]["who"] == "operator/ann");
      CHECK(rig.rollout->spec().mode.text() == order.at("mode"));
      CHECK(rig.rollout->take_events() == Events{RolloutEvent::spec_changed});
      // A higher mode needs the disk, even with force.
      CHECK_FALSE(rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "no"}}));
      CHECK(rig.rollout->spec().mode.text() == order.at("mode"));
      CHECK(rig.rollout->document()["unwritten"]["changes"] == 1);
      rig.rollout->watch({});  // still full
      CHECK(rig.rollout->unwritten() == 1);
    }
    rig.rollout->watch({});
    const json written = rig.rollout->document();
    CHECK(written["unwritten"].is_null());
    CHECK(written["durable"] == true);
    rig.open(Mode::live, folder.file());
    CHECK(rig.rollout->spec().mode.text() == order.at("mode"));
    CHECK(rig.rollout->document()["changes"][0]["who"] == "operator/ann");
  }
}

TEST_CASE("on a full disk a rollback and a monitor's withdrawal apply at once; a closed gate is reported as closed") {
  const Folder folder;
  RolloutRig rig(Mode::shadow, folder.file());
  REQUIRE(rig.handle("policy-set", {{"policy", "planner"}}));
  {
    const tests::FullDisk full;
    const auto closed = rig.handle("policy-set", {{"mode", "canary:10%"}});
    REQUIRE_FALSE(closed);
    CHECK(closed.error().code == Errc::denied);
    CHECK(rig.handle("policy-set", {{"policy", "amortised"}}).has_value() == false);
    const auto back = rig.handle("policy-rollback", {});
    REQUIRE_MESSAGE(back, back.error().message());
    CHECK((*back)["policy"] == "dqn");
    CHECK((*back)["unwritten"]["changes"] == 1);
  }
  REQUIRE(rig.handle("policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "acts"}}));
  CHECK(rig.rollout->unwritten() == 0);  // the pending change was written first
  {
    const tests::FullDisk full;
    rig.rollout->decided(rig.rollout->arm(), std::numeric_limits<double>::infinity());
    CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
    CHECK(rig.rollout->unwritten() == 1);
    CHECK(rig.rollout->figures().rollbacks == 1);
  }
  rig.rollout->watch({});
  rig.open(Mode::shadow, folder.file());
  CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.rollout->spec().policy == "dqn");
}

TEST_CASE("files of a previous controller are traces of it; files from before the first start are not") {
  const Folder folder;
  const auto traces = [&] { return traces_of_before(folder.path, folder.path + "/store.db"); };
  std::filesystem::create_directory(folder.path + "/lost+found");
  std::ofstream(folder.path + "/allow") << "# nobody\n";
  std::ofstream(folder.path + "/control.db").flush();
  CHECK(traces().empty());
  CHECK(reported_of(traces()).empty());
  std::filesystem::create_directory(folder.path + "/checkpoints");
  CHECK(traces().empty());
  for (const char* name :
       {"checkpoints/1.json", "control.db-wal", "control.db.damaged-7", "cluster-model", "store.db"}) {
    std::ofstream(folder.path + "/" + name) << "x";
  }
  CHECK(traces().size() == 5);
  CHECK(reported_of(traces()).find(" and 3 more are from a previous controller") != std::string::npos);
  CHECK(is_emptied(folder.file()));
  CHECK_FALSE(is_emptied(folder.path + "/store.db"));
  CHECK_FALSE(is_emptied(folder.path));
  CHECK_FALSE(is_emptied(folder.path + "/none"));
}
