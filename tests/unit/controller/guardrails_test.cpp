// Ablations of the mechanisms that decide whether a network may act. Each injects a fault, over seeds that were not
// used to choose a limit, and counts the outcomes with and without the mechanism. lab/docs/learning.md has the figures.
// The first cases show that verdicts apply before the next ask.
#include "controller/guardrails.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "controller/provision/margin_trial.hpp"
#include "provision/student/student_trial.hpp"
#include "tests/unit/controller/live_rig.hpp"

namespace wattle::controller {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAblationSeed = 9001, kAblations = 10;

double drawn_normal(std::mt19937_64& random, double mean = 0, double deviation = 1) {
  return std::normal_distribution<double>(mean, deviation)(random);
}

// Keeps the news that is posted to the trainer.
struct PostedNews final : Learning {
  std::vector<LearningNews> posted;
  void post(LearningNews news) override { posted.push_back(std::move(news)); }
};

struct VerdictRig : test::LiveRig {
  PostedNews trainer;
  ModelService models{trainer, rollout};
  Parts all{with_trainer()};
  Guardrails guardrails{all, models};

  VerdictRig() {
    decider->take(rollout.spec());
    verdicts.verdict = [this](const ArmNow& arm, double residual) { return guardrails.decided(arm, residual); };
  }
  Parts with_trainer() {
    const Parts made = parts();
    return {
        {made.config, made.clock, made.log, made.context, made.allow, made.networks, trainer, made.store, made.rollout,
         made.watch, made.sleep, made.live, made.http_refusals, made.enrol, made.enrol_refusals, made.mode_reason},
        made.state,
        made.decider,
        made.telemetry,
        made.shims,
        made.roles,
        made.allow_watch,
        made.series,
        made.requests,
        made.replicas,
        made.margins,
        made.traffic,
        made.sizing,
        made.epoch,
        made.started};
  }
};

struct GuardRig {
  ManualClock clock{mono_from_ns(1), wall_from_ns(1'800'000'000LL * 1'000'000'000)};
  Log log = Log::silent();
  std::optional<RolloutManager> rollout;
  explicit GuardRig(ModeSetting mode) {
    RolloutSpec configured;
    configured.mode = mode;
    auto opened = RolloutManager::open_(configured, "", {}, clock, log);
    REQUIRE(opened);
    rollout.emplace(std::move(*opened));
  }
  bool acting() const { return acts(rollout->arm().arm); }
};

TEST_CASE("an order is in force for decisions when it returns; the trainer gets only a change of reward") {
  VerdictRig rig;
  REQUIRE(rig.guardrails.order("policy-set", {{"mode", "shadow"}}, "operator/ann"));
  CHECK(rig.decider->spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.trainer.posted.empty());
  REQUIRE(rig.guardrails.order("policy-set", {{"reward", "lb"}}, "operator/ann"));
  CHECK(rig.decider->spec().reward.preset == placement::Preset::lb);
  CHECK(rig.trainer.posted.size() == 1);
  CHECK_FALSE(rig.guardrails.order("policy-dance", {}, "operator/ann"));
}

TEST_CASE("an invalid output makes its own answer neutral and is reported with the mode of that answer") {
  VerdictRig rig;
  class Invalid final : public models::QNetwork {
   public:
    void residual(const models::Observation&, std::span<float> out) const override {
      std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    }
    std::uint64_t step() const override { return 1; }
  };
  CHECK_FALSE(rig.decider->asks().ask(test::ask_for("p1", {"n1", "n2"})).neutral);
  rig.networks.set(std::make_shared<Invalid>());
  const wire::Suggestion answer = rig.decider->asks().ask(test::ask_for("p2", {"n1", "n2"}));
  CHECK(answer.neutral);
  CHECK(answer.mode == "shadow");
  CHECK(rig.rollout.figures().rollbacks == 1);
}

TEST_CASE("rewards wait until they are drained, and a resulting rollback is then in force") {
  VerdictRig rig;
  std::mt19937_64 random(17);
  for (int i = 0; i < 600; ++i) rig.rollout.judged({Arm::shadow, true}, drawn_normal(random));
  for (int i = 0; i < 1000; ++i) rig.rollout.judged({Arm::live, true}, drawn_normal(random));
  for (int i = 0; i < 60 && rig.rollout.figures().rollbacks == 0; ++i)
    rig.rollout.judged({Arm::live, true}, drawn_normal(random, -2));
  REQUIRE(rig.rollout.spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.decider->spec().mode == ModeSetting(Mode::live));
  rig.guardrails.drain();
  CHECK(rig.decider->spec().mode == ModeSetting(Mode::shadow));
  CHECK(rig.decider->asks().ask(test::ask_for("p1", {"n1", "n2"})).mode == "shadow");
}

TEST_CASE("ablation: output check") {
  int with = 0, without = 0;
  for (std::uint64_t seed = kAblationSeed; seed < kAblationSeed + kAblations; ++seed) {
    std::mt19937_64 random(seed);
    GuardRig rig(Mode::live);
    const int from = std::uniform_int_distribution(1, 100)(random);
    const double invalid = seed % 2 == 0 ? std::numeric_limits<double>::infinity() : 1e9;
    for (int i = 0; i < 200; ++i) {
      const bool is_invalid = i >= from;
      const bool acted = rig.acting() && rig.rollout->decided({Arm::live, true}, is_invalid ? invalid : 1);
      with += is_invalid && acted ? 1 : 0;
      without += is_invalid ? 1 : 0;
    }
    CHECK(rig.rollout->spec().mode == ModeSetting(Mode::shadow));
  }
  MESSAGE("invalid outputs that acted, of 10 networks: ", with, " with, ", without, " without");
  CHECK(with == 0);
}

TEST_CASE("ablation: regression monitor") {
  double worse = 0;
  int alarms = 0;
  for (std::uint64_t seed = kAblationSeed; seed < kAblationSeed + kAblations; ++seed) {
    std::mt19937_64 random(seed);
    const auto acted = [&](double mean) {
      GuardRig rig(Mode::live);
      for (int i = 0; i < 600; ++i) rig.rollout->judged({Arm::shadow, true}, drawn_normal(random));
      int placements = 0;
      for (; placements < 2000 && rig.acting(); ++placements)
        rig.rollout->judged({Arm::live, true}, drawn_normal(random, mean));
      return placements;
    };
    const int bad = acted(-1);
    CHECK(bad < 100);
    worse += bad;
    alarms += acted(0) < 2000 ? 1 : 0;
  }
  MESSAGE("acted, of 2000 placements that are worse by a standard deviation: ", worse / kAblations,
          " with, 2000 without; false alarms in ", kAblations, " runs: ", alarms);
  CHECK(alarms == 0);
}

TEST_CASE("ablation: budget monitors") {
  for (const bool late : {false, true}) {
    double minutes = 0;
    int alarms = 0;
    for (std::uint64_t seed = kAblationSeed; seed < kAblationSeed + kAblations; ++seed) {
      std::mt19937_64 random(seed);
      const auto acted = [&](double times) {
        GuardRig rig(Mode::live);
        int second = 0;
        for (; second < 86'400 && rig.acting(); second += 10) {
          rig.clock.advance(10s);
          const BudgetNow now{0.01 * times * std::exp(drawn_normal(random, 0, 0.2)), 0.01 * times, 0.01};
          rig.rollout->watch({}, late ? BudgetsNow{{}, now} : BudgetsNow{now, {}});
        }
        return second / 60;
      };
      minutes += acted(3);
      alarms += acted(1) < 1440 ? 1 : 0;
    }
    MESSAGE(std::string(late ? "late" : "waiting"), ", three times the budget: minutes acted of a day ",
            minutes / kAblations, " with, 1440 without; false alarms in ", kAblations, " days within it: ", alarms);
    CHECK(minutes / kAblations < 40);
    CHECK(alarms == 0);
  }
}

TEST_CASE("ablation: measured effect of a canary") {
  const auto opened = [](double treated_w) {
    int open = 0;
    for (std::uint64_t seed = kAblationSeed; seed < kAblationSeed + kAblations; ++seed) {
      std::mt19937_64 random(seed);
      GuardRig rig({Mode::canary, 0.5});
      for (int block = 0; block < 40; ++block) {
        const double factor = drawn_normal(random, 1, 0.03);
        for (int part = 0; part < 180; ++part) {
          rig.clock.advance(10s);
          ClusterNow now;
          now.nodes = now.watched = 4;
          now.requested_cores = 20;
          now.power_w = factor * (rig.acting() ? treated_w : 1000);
          rig.rollout->watch(now);
        }
      }
      open += rig.rollout->document()["promotion"]["open"].get<bool>() ? 1 : 0;
    }
    return open;
  };
  const int worse = opened(1050), better = opened(900);
  MESSAGE("may go live after 40 blocks, of 10: ", worse, " that cost 5% more (without the check all 10), ", better,
          " that save 10%");
  CHECK(worse == 0);
  CHECK(better >= 8);
}

// A tenth of the teacher's requests are late in a quarter of its minutes; half of a student's periods are throttled.
TEST_CASE("ablation: trials of provisioning") {
  int teacher = 0, student = 0;
  for (std::uint64_t seed = kAblationSeed; seed < kAblationSeed + kAblations; ++seed) {
    std::mt19937_64 random(seed);
    MarginTrial trial(TeacherMode::canary, seed);
    bool of_teacher = false;
    for (int minute = 0; minute < 1440; ++minute) {
      const bool late = of_teacher && std::uniform_int_distribution(0, 3)(random) == 0;
      teacher += of_teacher ? 1 : 0;
      of_teacher = trial.next("a", {drawn_normal(random, 0.2, 0.02), late ? 0.1 : 0});
    }
    CHECK(trial.state() == stats::NetworkState::withdrawn);
    stats::NetworkTrial of_student = actuator::student_trial(0.2);
    for (int minute = 0; minute < 1440 && of_student.in_use(); ++minute, ++student)
      of_student.add(actuator::throttled_difference(std::clamp(drawn_normal(random, 0.5, 0.2), 0.0, 1.0), 0.2));
    CHECK(of_student.state() == stats::NetworkState::withdrawn);
  }
  MESSAGE("minutes of a day: teacher with late requests in a quarter of its minutes ",
          teacher / static_cast<int>(kAblations), " with, 720 without; student with half of its periods throttled ",
          student / static_cast<int>(kAblations), " with, 1440 without");
}

}  // namespace
}  // namespace wattle::controller
