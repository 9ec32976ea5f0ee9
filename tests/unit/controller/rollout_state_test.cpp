// State of gates and monitors over a restart, damaged state, and the tables of the guardrails page.
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "common/json/value.hpp"
#include "common/sqlite/database.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

struct RestartRig {
  std::string folder = (std::filesystem::temp_directory_path() / "wattle-states-XXXXXX").string();
  ManualClock clock{mono_from_ns(1), wall_from_ns(1'800'000'000LL * 1'000'000'000)};
  Log log = Log::silent();
  std::optional<RolloutManager> manager;

  RestartRig() { REQUIRE(mkdtemp(folder.data()) != nullptr); }
  ~RestartRig() {
    manager.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  RestartRig(const RestartRig&) = delete;
  RestartRig& operator=(const RestartRig&) = delete;
  std::string file() const { return folder + "/control.db"; }
  void open(ModeSetting mode) {
    RolloutSpec configured;
    configured.mode = mode;
    manager.reset();
    auto opened = RolloutManager::open_(configured, file(), {}, clock, log);
    if (!opened) FAIL(opened.error().message());
    manager.emplace(std::move(*opened));
  }
  void sql(const std::string& text) {
    manager.reset();
    auto database = sqlite::Database::open_(file(), {}, control_steps());
    REQUIRE(database);
    REQUIRE((*database)->run(text));
  }
};

// Every truncated text, and every text with a missing field or one of another type, is refused with the name of the
// row.
template <class Parse>
void refuses_damage(std::string_view row, const std::string& text, const Parse& parse) {
  REQUIRE(parse(text));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    const auto cut = parse(text.substr(0, length));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == Errc::malformed);
    CHECK(cut.error().subject == "monitor " + std::string(row));
  }
  const wattle::SortedJson whole = wattle::SortedJson::parse(text);
  for (const auto& each : whole.items()) {
    const std::string key = each.key();
    wattle::SortedJson less = whole, other = whole;
    less.erase(key);
    other[key] = wattle::SortedJson::object();
    CHECK_FALSE_MESSAGE(parse(less.dump()), key);
    CHECK_FALSE_MESSAGE(parse(other.dump()), key);
  }
  CHECK_FALSE(parse("[]"));
  CHECK_FALSE(parse(std::string(8192, 'x')));
}

std::string page() {
  std::stringstream text;
  for (const char* name : {"/docs/reference/rollout.md", "/controller/rollout/state.md"})
    text << std::ifstream(tests::source_dir() + name).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a monitor's state survives a round trip") {
  CHECK(rc::check([](std::uint64_t decisions, bool nonsense, const std::vector<int>& draws) {
    const GateState gate = *parse_gate(gate_text({decisions, nonsense}));
    RC_ASSERT(gate.decisions == decisions);
    RC_ASSERT(gate.nonsense == nonsense);
    RegressionMonitor::State state{static_cast<double>(draws.size()) / 100, decisions, {}};
    for (const int draw : draws) state.control.push_back(draw / 7.0);
    const auto again = *parse_regression(regression_text(state));
    RC_ASSERT(again.level == state.level);
    RC_ASSERT(again.judged == state.judged);
    RC_ASSERT(again.control == state.control);
  }));
}

TEST_CASE("truncated text, a missing field or one of another type is refused, and the row is named") {
  refuses_damage(kGateRow, gate_text({3, true}), parse_gate);
  refuses_damage(kRegressionRow, regression_text({1.5, 9, {0.25, -1}}), parse_regression);
  for (const std::string_view row : {kWaitingRow, kLateRow})
    refuses_damage(row, over_budget_text(90), [row](std::string_view text) { return parse_over_budget(row, text); });
  const placement::CandidateTrials::State begun = placement::CandidateTrials().saved();
  refuses_damage(kCandidatesRow, candidates_text({"dqn", "", begun}), parse_candidates);
  CHECK_FALSE(parse_regression(regression_text({11, 0, {}})));  // it would have alarmed
}

TEST_CASE("evidence of candidates survives a round trip; from an earlier version, the trials start again") {
  placement::CandidateTrials::State state = placement::CandidateTrials().saved();
  state.arms.blocks = 30;
  state.arms.serving = 1;
  stats::BestArm::Arm& arm = state.arms.arms[2];
  arm.withdrawals = 1;
  arm.rests_until = 60;
  arm.tried = 3;
  arm.over_floor.add(0.03, 0.5);
  arm.over_serving.add(0.01);
  state.arms.spent.push_back({2, 0.05, 0.01});
  state.arms.floor.push_back({29, {-1, 7, {}}});
  const std::string text = candidates_text({"dqn", "", state});
  wattle::SortedJson kept = wattle::SortedJson::parse(text);
  const auto again = parse_candidates(text);
  REQUIRE(again);
  CHECK(candidates_text(*again) == text);
  CHECK(again->state.arms.serving == 1);
  CHECK(again->state.arms.arms[2].rests_until == 60);
  CHECK(again->state.arms.arms[2].over_floor.mean() == doctest::Approx(0.06));
  CHECK(again->state.arms.spent.front().exposure == 0.01);
  CHECK(again->state.arms.floor.size() == 1);
  for (const int format : {1, 2, 3}) {
    kept["format"] = format;
    const auto earlier = parse_candidates(kept.dump());
    REQUIRE(earlier);
    CHECK(earlier->of == "dqn");
    CHECK(earlier->state.arms.blocks == 0);
    CHECK(earlier->state.arms.spent.empty());
  }
  kept["format"] = 5;
  CHECK_FALSE(parse_candidates(kept.dump()));
}

TEST_CASE("the gate and the regression monitor continue after a restart as if there had been none") {
  RestartRig rig;
  rig.open(Mode::live);
  RegressionMonitor whole;
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 1);
  const auto both = [&](Arm arm, double reward) {
    arm == Arm::live ? static_cast<void>(whole.acting(reward)) : whole.control(reward);
    rig.manager->judged({arm, true}, reward);
  };
  for (int i = 0; i < 600; ++i) both(Arm::shadow, noise(random));
  for (int i = 0; i < 5; ++i) both(Arm::live, -1 + noise(random));
  for (int i = 0; i < 40; ++i) rig.manager->decided({Arm::live, true}, 0);
  REQUIRE(whole.level() > 0);
  REQUIRE(rig.manager->keep({{"plan", "{}"}}));
  rig.open(Mode::live);
  CHECK(rig.manager->spec().mode == ModeSetting(Mode::live));
  CHECK(rig.manager->regression().ready());
  CHECK(rig.manager->regression().level() == whole.level());
  CHECK(rig.manager->regression().judged() == 5);
  CHECK(rig.manager->document()["experiment"]["decisions"] == 40);
  CHECK(*rig.manager->kept("plan") == "{}");
  CHECK(rig.manager->kept("none") == nullptr);
  int placements = 0;
  while (rig.manager->spec().mode.mode == Mode::live && placements < 100) {
    both(Arm::live, -2);
    ++placements;
  }
  CHECK(whole.level() > whole.options().limit);  // at the same placement
  CHECK(rig.manager->spec().mode == ModeSetting(Mode::shadow));
  // A change starts another experiment without earlier evidence.
  rig.open(Mode::canary);
  CHECK(rig.manager->document()["experiment"]["decisions"] == 0);
  CHECK(rig.manager->kept("plan") == nullptr);
}

TEST_CASE("a damaged row stops acting until an operator's order; the other rows are kept") {
  for (const char* row : {"gate", "regression"}) {
    CAPTURE(row);
    RestartRig rig;
    rig.open({Mode::canary, 0.5});
    for (int i = 0; i < 600; ++i) rig.manager->judged({Arm::control, true}, i);
    for (int i = 0; i < 40; ++i) rig.manager->decided({Arm::control, true}, 0);
    REQUIRE(rig.manager->keep({}));
    rig.sql("UPDATE monitor SET state = '{\"format\": 1}' WHERE name = '" + std::string(row) + "'");
    for (int start = 0; start < 2; ++start) {
      rig.open({Mode::canary, 0.5});
      CHECK(rig.manager->spec().mode == ModeSetting(Mode::shadow));
      REQUIRE(rig.manager->keep({}));
    }
    CHECK(rig.manager->document()["changes"][0]["who"] == "guard");
    const auto why = rig.manager->document()["changes"][0]["why"].get<std::string>();
    CHECK(why.find("monitor " + std::string(row)) != std::string::npos);
    CHECK(why.find("wattle policy set") != std::string::npos);
    CHECK((rig.manager->regression().controls() == 600) == (std::string_view(row) == "gate"));
  }
}

TEST_CASE("an unreadable monitor is reported until the next order, also in a mode that does not act") {
  RestartRig rig;
  rig.open(Mode::shadow);
  rig.manager->unreadable({Errc::malformed, "monitor plan", "is no JSON object", ""});
  CHECK(rig.manager->spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.manager->lost() == "malformed: monitor plan: is no JSON object");
  REQUIRE(rig.manager->handle("policy-set", {{"policy", "planner"}}, "operator/ann"));
  CHECK(rig.manager->lost().empty());
}

TEST_CASE("a finding of a monitor sets mode shadow and restores the network of the last promotion") {
  for (const bool acting : {true, false}) {
    CAPTURE(acting);
    RestartRig rig;
    rig.open(acting ? Mode::live : Mode::shadow);
    rig.manager->withdraw("the evidence", acting);
    CHECK(rig.manager->spec().mode == ModeSetting(Mode::shadow));
    std::vector<RolloutEvent> expected;
    if (acting) expected = {RolloutEvent::spec_changed, RolloutEvent::network_withdrawn};
    CHECK(rig.manager->take_events() == expected);
    CHECK(rig.manager->take_events().empty());
    const wattle::SortedJson newest = rig.manager->document()["changes"][0];
    CHECK(newest["who"] == "guard");
    CHECK(newest["why"] == "the evidence");
  }
}

TEST_CASE("the pages about rollout have each gate and each stored row") {
  const std::string text = page();
  REQUIRE_FALSE(text.empty());
  for (const GateCheck& check : kGateChecks) {
    const std::string row = "| `" + std::string(to_string(check.to)) + "` | `" + std::string(check.name) + "` |";
    CHECK_MESSAGE(text.find(row) != std::string::npos, row);
  }
  const std::vector<std::pair<std::string_view, std::string>> rows{
      {kGateRow, gate_text({})},
      {kRegressionRow, regression_text({})},
      {kCandidatesRow, candidates_text({"dqn", "", placement::CandidateTrials().saved()})},
      {kWaitingRow, over_budget_text(0)},
      {kLateRow, over_budget_text(0)}};
  for (const auto& kept : rows) {
    const std::string name(kept.first);
    const auto at = text.find("| `" + name + "` | `", text.find("# State kept over a restart\n\nTable"));
    REQUIRE_MESSAGE(at != std::string::npos, name);
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const auto fields = wattle::SortedJson::parse(kept.second);
    for (const auto& each : fields.items()) {
      const std::string key = each.key();
      if (key != "format") CHECK_MESSAGE(line.find("`" + key + "`") != std::string::npos, name, " ", key);
    }
  }
}

TEST_CASE("gates are checked in order, and the first closed one is named") {
  GateEvidence evidence;
  CHECK(gate_from(Mode::off, evidence).closed.empty());
  CHECK(gate_from(Mode::shadow, evidence).closed == "0 of 100 decisions needed for a canary");
  evidence.nonsense = true;
  CHECK(gate_from(Mode::shadow, evidence).closed == "the network's output was invalid");
  evidence = {};
  evidence.decisions = 100;
  CHECK(gate_from(Mode::shadow, evidence).closed.empty());
  CHECK(gate_from(Mode::canary, evidence).closed.starts_with("measured blocks: 0 treated"));
  evidence.effect.low = 0.01;
  CHECK(gate_from(Mode::canary, evidence).closed.empty());
  evidence.effect.low = -0.01;
  CHECK(gate_from(Mode::canary, evidence).closed.find("interval reaches below zero") != std::string::npos);
  CHECK_FALSE(gate_from(Mode::live, evidence).next.has_value());
}
