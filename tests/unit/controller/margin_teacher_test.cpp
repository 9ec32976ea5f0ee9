// The margin teacher with a fake network behind the interface. These cases run without libtorch.
#include "controller/provision/margin_teacher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "models/frozen/layout.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using models::provision::TeacherReward;

namespace {

struct Taught {
  std::vector<models::Transition> seen;
  std::uint64_t restored = 0;
};

class FakeTrainer final : public models::PolicyTrainer {
 public:
  explicit FakeTrainer(Taught& taught) : taught_(taught), weights_(models::initial_weights(1)) {}
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    for (const models::Transition* each : batch) taught_.seen.push_back(*each);
    ++steps_;
    return models::StepStats{0.5, 0, 0, 0, steps_, 0, 0};
  }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const>, double) override {
    ++steps_;
    return models::PolicyStats{};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override {
    models::Weights all = weights_;
    all["steps"] = {{1}, {static_cast<float>(steps_)}};
    return all;
  }
  Status restore(const models::Weights& saved) override {
    weights_ = saved;
    steps_ = static_cast<std::uint64_t>(weights_.at("steps").values.at(0));
    weights_.erase("steps");
    taught_.restored = steps_;
    return {};
  }

 private:
  Taught& taught_;
  models::Weights weights_;
  std::uint64_t steps_ = 0;
};

struct Rig {
  explicit Rig(TeacherMode mode, const std::string& dir, std::size_t warmup = 60,
               TeacherReward reward = TeacherReward::waste) {
    MarginLearnerOptions options;
    options.warmup = warmup;
    options.reward = reward;
    options.batch = 8;
    auto made = MarginLearner::make(
        options, dir,
        [this]() -> Result<std::unique_ptr<models::PolicyTrainer>> {
          ++made_trainers;
          return std::unique_ptr<models::PolicyTrainer>(new FakeTrainer(taught));
        },
        clock, log);
    REQUIRE(made);
    learner = std::move(*made);
    teacher.emplace(mode, 1, learner.get(), clock, reward);
  }
  // One minute of a service that answers 100 requests a second, with the rule's or the teacher's step.
  void minute(const std::string& node = "n1", const std::string& name = "a.service", std::uint64_t late = 0) {
    clock.advance(std::chrono::seconds(60));
    LimitMinute& reported = last[node + name];
    const auto steps = teacher->margins(node);
    const auto step = steps.find(name);
    ++reported.number;
    reported.name = name;
    reported.steered = step != steps.end() && step->second.minute + 1 == reported.number;
    reported.margin_ratio = reported.steered ? step->second.margin_ratio : reported.rule_margin_ratio;
    reported.rule_margin_ratio = std::max(-0.1, reported.margin_ratio - 0.03);
    reported.used_cores = 0.5;
    reported.granted_cores = 0.5 * (1.1 + reported.margin_ratio);
    reported.requests = 6000;
    reported.requests_over = late;
    if (memory) {
      const bool moved = reported.steered && step->second.memory_margin_ratio;
      reported.memory_margin_ratio = moved ? *step->second.memory_margin_ratio : models::provision::kRuleMemory;
      reported.memory_used_bytes = 1ULL << 30;
      reported.memory_granted_bytes = static_cast<std::uint64_t>((1 + *reported.memory_margin_ratio) * (1 << 30));
      if (!limited) reported.memory_margin_ratio.reset();
    }
    teacher->minute(node, 4, reported, {}, replicas);
    learner->turn();
  }
  const SteeredService& service(const std::string& node = "n1", const std::string& name = "a.service") const {
    return teacher->services().at({node, name});
  }

  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  Taught taught;
  std::size_t made_trainers = 0;
  std::unique_ptr<MarginLearner> learner;
  std::optional<MarginTeacher> teacher;
  std::map<std::string, LimitMinute> last;
  bool memory = false, limited = true;  // as the node reports it
  ReplicaPlace replicas;
};

}  // namespace

TEST_CASE("a manual change of replicas by one counts as the minute's action if the teacher could choose it") {
  for (const bool may : {true, false}) {
    const wattle::test::TempDir dir;
    Rig rig(TeacherMode::shadow, dir.path(), 40);
    rig.replicas.wanted = may ? std::optional<std::size_t>(2) : std::nullopt;
    rig.replicas.now = 2;
    for (int i = 0; i < 120; ++i) {
      rig.replicas.now = i % 20 < 10 ? 2 : 3;
      rig.minute();
    }
    std::size_t up = 0, down = 0;
    for (const models::Transition& each : rig.taught.seen) {
      CHECK(each.state.valid[each.action] != 0);
      up += action_word(each.action) == "replicas_up";
      down += action_word(each.action) == "replicas_down";
    }
    CHECK((up > 0) == may);
    CHECK((down > 0) == may);
  }
}

TEST_CASE("in mode shadow the teacher logs its choice, learns from the rule's choice, and steers no service") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::shadow, dir.path());
  CHECK(rig.made_trainers == 0);  // no service is reported yet
  for (int i = 0; i < 200; ++i) {
    rig.minute();
    CHECK(rig.teacher->margins("n1").empty());
  }
  CHECK(rig.service().known);
  CHECK_FALSE(rig.service().minute.steered);
  CHECK(rig.service().cost == doctest::Approx(1));  // at the least margin all that is granted is used
  CHECK(rig.service().gain >= 0);
  CHECK(rig.learner->figures().steps > 50);
  CHECK(rig.learner->network());
  // The rule lowered the margin a little each minute to its minimum.
  std::size_t down = 0, kept = 0;
  for (const models::Transition& each : rig.taught.seen) {
    down += each.action == models::provision::action_of(models::provision::Lever::cpu, -1);
    kept += each.action == models::provision::kKeep;
    CHECK(each.state.nodes == models::provision::kActions);
    CHECK(each.state.valid[each.action] == 1);
    CHECK(std::isfinite(each.reward));
  }
  CHECK(down > 0);
  CHECK(kept > 0);
  CHECK(down + kept == rig.taught.seen.size());
}

TEST_CASE("an untrained teacher chooses as the rule does") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::shadow, dir.path(), 100'000);
  for (int i = 0; i < 60; ++i) rig.minute();
  CHECK(rig.service().agreed > 40);
  CHECK(rig.service().gain == 0);
}

TEST_CASE("in mode canary the teacher has its blocks once there is a network; a step moves one rung per ended minute") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::canary, dir.path());
  std::size_t steered = 0;
  for (int i = 0; i < 60; ++i) {
    rig.minute();
    steered += !rig.teacher->margins("n1").empty();
  }
  CHECK(steered == 0);  // no step is learned yet
  for (int i = 0; i < 600; ++i) {
    rig.minute();
    const auto steps = rig.teacher->margins("n1");
    if (steps.empty()) continue;
    ++steered;
    const LimitMinute& minute = rig.service().minute;
    const wire::MarginStep& step = steps.at("a.service");
    CHECK(step.minute == minute.number);
    CHECK(step.margin_ratio == doctest::Approx(models::provision::within_a_rung(step.margin_ratio, minute.margin_ratio,
                                                                                minute.rule_margin_ratio, {})));
    CHECK(rig.teacher->margins("n2").empty());
  }
  CHECK(steered > 200);
  CHECK(steered < 400);
  CHECK(rig.teacher->trial().test().blocks() > 10);
}

TEST_CASE("if a node limits memory, actions change it one rung at a time within bounds, and cost the granted memory") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::canary, dir.path());
  rig.memory = true;
  std::size_t moved = 0;
  double last = models::provision::kRuleMemory;
  for (int i = 0; i < 2000; ++i) {
    rig.minute();
    const LimitMinute& minute = rig.service().minute;
    REQUIRE(rig.service().wanted_memory);
    const auto steps = rig.teacher->margins("n1");
    if (steps.empty()) continue;
    const double wanted = steps.at("a.service").memory_margin_ratio.value();
    const auto bounds = models::provision::bounds_of(true, 1, std::nullopt);
    CHECK(wanted ==
          doctest::Approx(models::provision::memory_within_a_rung(wanted, *minute.memory_margin_ratio, bounds)));
    // At most one of the two.
    if (wanted != doctest::Approx(*minute.memory_margin_ratio))
      CHECK(steps.at("a.service").margin_ratio == doctest::Approx(minute.margin_ratio));
    moved += std::abs(wanted - last) > 1e-6;
    last = wanted;
  }
  CHECK(moved > 5);
  // 0.3 W per GiB, and 4 W for each half core.
  CHECK(rig.service().cost > 1.15);
  bool up = false, down = false;
  for (const models::Transition& each : rig.taught.seen) {
    up = up || each.action == models::provision::action_of(models::provision::Lever::memory, 1);
    down = down || each.action == models::provision::action_of(models::provision::Lever::memory, -1);
    CHECK(each.state.valid[each.action] == 1);
    CHECK(each.state.valid[models::provision::action_of(models::provision::Lever::replicas, 1)] == 0);
  }
  CHECK(up);
  CHECK(down);
}

TEST_CASE("if memory is not limited its actions are masked, and no step has one") {
  for (const bool reported : {false, true}) {
    const wattle::test::TempDir dir;
    Rig rig(TeacherMode::canary, dir.path());
    rig.memory = reported;
    rig.limited = false;
    for (int i = 0; i < 300; ++i) {
      rig.minute();
      CHECK_FALSE(rig.service().wanted_memory);
      for (const auto& entry : rig.teacher->margins("n1")) CHECK_FALSE(entry.second.memory_margin_ratio);
    }
    CHECK(rig.taught.seen.size() > 100);
    for (const models::Transition& each : rig.taught.seen)
      for (const int direction : {-1, 1})
        CHECK(each.state.valid[models::provision::action_of(models::provision::Lever::memory, direction)] == 0);
  }
}

TEST_CASE("a step expires with its minute") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::canary, dir.path());
  while (rig.teacher->margins("n1").empty()) rig.minute();
  rig.clock.advance(std::chrono::seconds(80));
  CHECK(rig.teacher->margins("n1").empty());
}

TEST_CASE("a service without a known latency is left to the rule, and not learned from") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::canary, dir.path());
  for (int i = 0; i < 200; ++i) {
    rig.clock.advance(std::chrono::seconds(60));
    LimitMinute minute;
    minute.name = "a.service";
    minute.number = static_cast<std::uint64_t>(i);
    minute.used_cores = minute.granted_cores = 1;
    minute.rule_margin_ratio = 0.1;
    rig.teacher->minute("n1", 4, minute);
    rig.learner->turn();
    CHECK(rig.teacher->margins("n1").empty());
  }
  CHECK_FALSE(rig.service().known);
  CHECK(rig.service().wanted_margin == 0.1);
  CHECK(rig.learner->figures().replay == 0);
  CHECK(rig.made_trainers == 0);
}

TEST_CASE("repeated reports of minutes change nothing, and a gap ends a transition at once") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::shadow, dir.path());
  for (int i = 0; i < 20; ++i) rig.minute();
  const auto minutes = rig.service().minutes;
  rig.teacher->minute("n1", 4, rig.last.at("n1a.service"));
  CHECK(rig.service().minutes == minutes);
  rig.learner->turn();
  CHECK(rig.learner->figures().replay == 0);
  rig.last.at("n1a.service").number += 5;
  rig.minute();
  CHECK(rig.learner->figures().replay == 19);  // all but the last, which has no next state yet
}

TEST_CASE("network, minutes and verdict continue after a restart") {
  const wattle::test::TempDir dir;
  std::uint64_t steps = 0, blocks = 0;
  {
    Rig rig(TeacherMode::canary, dir.path());
    for (int i = 0; i < 400; ++i) rig.minute();
    rig.learner->keep(rig.teacher->trial().saved(), rig.teacher->release().saved());
    rig.learner->save();
    steps = rig.learner->figures().steps;
    blocks = rig.teacher->trial().test().blocks();
    REQUIRE(blocks > 0);
  }
  Rig rig(TeacherMode::canary, dir.path());
  CHECK(rig.taught.restored == steps);
  CHECK(rig.learner->figures().resumed_steps == steps);
  CHECK(rig.learner->figures().replay >= 330);
  CHECK(rig.learner->network());
  CHECK(rig.teacher->trial().test().blocks() == blocks);
}

TEST_CASE(
    "under DRPC's reward the teacher learns in its own folder, from usage instead of the share of late requests") {
  const wattle::test::TempDir dir;
  // Difference between the best and the worst learned reward if one minute of five has late requests.
  const auto spread_by = [&](TeacherReward reward) {
    Rig rig(TeacherMode::shadow, dir.path(), 60, reward);
    for (int i = 0; i < 150; ++i) rig.minute("n1", "a.service", i % 5 == 0 ? 400 : 0);
    rig.learner->save();
    CHECK(rig.learner->figures().resumed_steps == 0);
    CHECK(rig.service().cost > 0);
    REQUIRE_FALSE(rig.taught.seen.empty());
    const auto [least, most] =
        std::ranges::minmax(rig.taught.seen, {}, [](const models::Transition& one) { return one.reward; });
    return static_cast<double>(most.reward - least.reward);
  };
  const double by_waste = spread_by(TeacherReward::waste), by_drpc = spread_by(TeacherReward::drpc);
  CHECK(by_waste > 1);
  CHECK(by_drpc < 0.3);
  CHECK(Rig(TeacherMode::shadow, dir.path()).taught.restored > 0);
  CHECK(Rig(TeacherMode::shadow, dir.path(), 60, TeacherReward::drpc).taught.restored > 0);
}

TEST_CASE("a rollback is stored at once, and another mode ends it") {
  const wattle::test::TempDir dir;
  {
    Rig rig(TeacherMode::canary, dir.path());
    for (int i = 0; i < 2000 && !rig.teacher->trial().rolled_back(); ++i)
      rig.minute("n1", "a.service", rig.teacher->margins("n1").empty() ? 0 : 400);
    REQUIRE(rig.teacher->trial().rolled_back());
    CHECK(rig.teacher->margins("n1").empty());
  }  // as if killed: a learner without a thread saves nothing at its end
  {
    const Rig rig(TeacherMode::canary, dir.path());
    CHECK(rig.teacher->trial().rolled_back());
  }
  {
    const Rig rig(TeacherMode::shadow, dir.path());
    CHECK_FALSE(rig.teacher->trial().rolled_back());
    rig.learner->turn();
  }
  const Rig rig(TeacherMode::canary, dir.path());
  CHECK_FALSE(rig.teacher->trial().rolled_back());
}

TEST_CASE("a service that is no longer reported is dropped") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::shadow, dir.path());
  rig.minute("n1", "a.service");
  rig.clock.advance(std::chrono::minutes(11));
  rig.minute("n1", "b.service");
  CHECK(rig.teacher->services().size() == 1);
}

namespace {

// A minute of a service whose node does not know its requests.
void unreported_minute(Rig& rig, const Traffic& traffic) {
  rig.clock.advance(std::chrono::seconds(60));
  LimitMinute& minute = rig.last["n1a.service"];
  minute.name = "a.service";
  ++minute.number;
  minute.used_cores = minute.granted_cores = 1;
  minute.rule_margin_ratio = 0.1;
  rig.teacher->minute("n1", 4, minute, traffic);
  rig.learner->turn();
}

}  // namespace

TEST_CASE("the teacher learns from requests of another source if the node knows none, and reports the source") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::shadow, dir.path());
  for (int i = 0; i < 100; ++i) unreported_minute(rig, {100.0, 0.02, 1.5});
  const SteeredService& service = rig.service();
  CHECK(service.known);
  CHECK(service.rate_by == ReportedBy::prometheus);
  CHECK(service.latency_by == ReportedBy::prometheus);
  CHECK(service.minute.requests == 6000);
  CHECK(service.minute.requests_over == 120);
  CHECK(service.minute.p99_over_target == 1.5);
  CHECK(service.cost > 1);
  REQUIRE(service.expected);
  CHECK(service.expected->rate_rps == doctest::Approx(100));
  CHECK(service.forecast.minutes > 90);
  CHECK(service.forecast.error_rps < 1);
  CHECK(rig.learner->figures().steps > 0);
}

TEST_CASE("a rate without a latency is forecast and the rule serves; the node's own data has precedence") {
  const wattle::test::TempDir dir;
  Rig rig(TeacherMode::canary, dir.path());
  for (int i = 0; i < 100; ++i) unreported_minute(rig, {50.0, {}, {}});
  CHECK_FALSE(rig.service().known);
  CHECK(rig.service().rate_by == ReportedBy::prometheus);
  CHECK(rig.service().latency_by == ReportedBy::none);
  CHECK(rig.service().expected->rate_rps == doctest::Approx(50));
  CHECK(rig.made_trainers == 0);
  unreported_minute(rig, {});
  CHECK(rig.service().rate_by == ReportedBy::none);
  CHECK_FALSE(rig.service().expected);
  LimitMinute& minute = rig.last["n1a.service"];
  minute.requests = 600;
  minute.requests_over = 6;
  unreported_minute(rig, {100.0, 0.5, 9.0});
  CHECK(rig.service().rate_by == ReportedBy::node);
  CHECK(rig.service().minute.requests_over == 6);
  CHECK(rig.service().rate_rps == 10);
}

TEST_CASE("a learner with slow steps reports each at once, and stops before it has processed all pending minutes") {
  // A step lasts as long as the test blocks it.
  struct Gate {
    std::atomic<std::uint64_t> allowed = 0, begun = 0;
  } gate;
  class SlowTrainer final : public models::PolicyTrainer {
   public:
    SlowTrainer(Gate& gate, Taught& taught) : gate_(gate), inner_(taught) {}
    Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
      const std::uint64_t mine = ++gate_.begun;
      tests::wait_until([&] { return gate_.allowed.load() >= mine; });
      tests::pace(std::chrono::milliseconds(1));
      return inner_.step(batch);
    }
    Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch, double t) override {
      return inner_.imitate(batch, t);
    }
    std::uint64_t steps() const override { return inner_.steps(); }
    models::Weights weights() const override { return inner_.weights(); }
    models::Weights checkpoint() const override { return inner_.checkpoint(); }
    Status restore(const models::Weights& saved) override { return inner_.restore(saved); }

   private:
    Gate& gate_;
    FakeTrainer inner_;
  };
  const wattle::test::TempDir dir;
  const SystemClock clock;
  const Log log = Log::silent();
  Taught taught;
  MarginLearnerOptions options;
  options.warmup = 30;
  options.batch = 1;
  auto learner = MarginLearner::start(
      options, dir.path(),
      [&]() -> Result<std::unique_ptr<models::PolicyTrainer>> {
        return std::unique_ptr<models::PolicyTrainer>(new SlowTrainer(gate, taught));
      },
      clock, log);
  REQUIRE(learner);
  constexpr std::uint64_t kMinutes = 9'000;
  for (std::uint64_t i = 0; i < kMinutes; ++i)
    (*learner)->post({"n1/a.service", false, 1, models::provision::observe({}, {}), 0});
  REQUIRE(tests::wait_until([&] { return gate.begun == 1; }));
  gate.allowed = 3;
  REQUIRE(tests::wait_until([&] { return gate.begun == 4; }));
  CHECK((*learner)->figures().steps == 3);
  gate.allowed = kMinutes;
  learner->reset();  // otherwise it would process all pending minutes, a millisecond each
  CHECK(gate.begun < kMinutes);
}
