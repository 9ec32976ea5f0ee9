// Teaching: the transitions for trainers, and the verdict on a teacher.
#include "sim/provision/teach.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "common/json/value.hpp"
#include "lab/contestants/contestants.hpp"
#include "models/frozen/layout.hpp"
#include "provision/student/student_trial.hpp"
#include "sim/provision/teacher_judge.hpp"

using namespace wattle;
using namespace wattle::sim::provision;
namespace choice = wattle::models::provision;

namespace {

// Learns nothing, and checks its input.
class LookingTrainer final : public models::PolicyTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    for (const models::Transition* each : batch) {
      whole = whole && each->state.valid[each->action] == 1 && std::isfinite(each->reward) &&
              std::abs(each->discount - 0.729F) < 1e-3F && each->next.nodes == choice::kActions;
      rewards += each->reward;
    }
    seen += batch.size();
    ++steps_;
    if (steps_ == fails_at) return fail(Errc::exhausted, "trainer", "is tired");
    return models::StepStats{};
  }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch, double) override {
    for (const models::PolicyExample* each : batch) {
      double sum = 0;
      for (std::size_t i = 0; i < choice::kActions; ++i) sum += each->target[i];
      whole = whole && std::abs(sum - 1) < 1e-5 && each->tried[choice::action_of(choice::Lever::replicas, 1)] == 0 &&
              each->state.pod[13] == 0;
    }
    seen += batch.size();
    ++steps_;
    models::PolicyStats stats;
    stats.agreement = 0.5;
    return stats;
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return models::initial_weights(1); }
  models::Weights checkpoint() const override { return {}; }
  Status restore(const models::Weights&) override { return {}; }

  bool whole = true;
  double rewards = 0;
  std::size_t seen = 0;
  std::uint64_t fails_at = 0;

 private:
  std::uint64_t steps_ = 0;
};

class FixedActionNetwork final : public models::QNetwork {
 public:
  explicit FixedActionNetwork(std::size_t action) : action_(action) {}
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    out[action_] = 50;
  }
  std::uint64_t step() const override { return 1; }

 private:
  std::size_t action_;
};

TeachOptions few_hours() {
  TeachOptions options;
  options.hours = 4;
  options.minutes = 10;
  options.warmup = 20;
  options.world.warm_s = 60;
  options.world.most_replicas = 2;
  options.rounds = 2;
  options.hours_per_round = 2;
  options.steps_per_round = 5;
  return options;
}

TeacherJudgeOptions one_trace(double rate_rps) {
  TeacherJudgeOptions options;
  options.traces = {{"flat", std::vector<double>(1800, rate_rps)}};
  options.world.warm_s = 600;
  options.seeds = 5;
  return options;
}

}  // namespace

TEST_CASE(
    "a teacher gets whole transitions of valid actions, with centred rewards, one step a minute after the warmup") {
  const TeachOptions options = few_hours();
  LookingTrainer trainer;
  const auto taught = teach(options, trainer, [](double, const std::string&) {});
  REQUIRE(taught);
  CHECK(trainer.whole);
  CHECK(taught->minutes == 44);
  CHECK(taught->steps == 22);  // none in the first two hours
  CHECK(trainer.seen == 22 * options.batch);
  CHECK(std::abs(trainer.rewards) / static_cast<double>(trainer.seen) < 1);
  CHECK(taught->last_cost > 1);

  TeachOptions by_drpc = options;
  by_drpc.reward = TeacherReward::drpc;
  LookingTrainer other;  // with the same minutes
  REQUIRE(teach(by_drpc, other, [](double, const std::string&) {}));
  CHECK(other.whole);
  CHECK(other.seen == trainer.seen);
  CHECK(other.rewards != trainer.rewards);

  LookingTrainer tired;
  tired.fails_at = 3;
  const auto failed = teach(options, tired, [](double, const std::string&) {});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().subject == "trainer");
}

namespace {

constexpr double kMostThrottled = 0.2;  // an actuator's default

// Tries the steering as a node tries a student.
class OnTrial final : public Steering {
 public:
  choice::Setting minute(std::size_t service, const MinuteOfService& seen) override {
    trial.add(actuator::throttled_difference(seen.state.throttled_ratio, kMostThrottled));
    return rule_.minute(service, seen);
  }
  stats::NetworkTrial trial = actuator::student_trial(kMostThrottled);

 private:
  RuleSteering rule_;
};

}  // namespace

TEST_CASE("a node would keep a steering that meets its latency target with far more throttling than its own rule") {
  for (const RateTrace& trace : synthetic_rates(1, 3600)) {
    if (trace.name != "diurnal" && trace.name != "bursty") continue;
    WorldOptions world;
    world.trace = std::make_shared<const RateTrace>(trace);
    world.seed = 900;
    OnTrial steering;
    SteerOptions options;
    options.rule.least_margin = options.bounds.least_margin;
    Steered services(world, options, steering);
    const auto figures = play(World(world), services);
    REQUIRE(figures);
    CHECK(figures->minutes_over <= figures->minutes / 20 + 1);
    CHECK(kMostThrottled + steering.trial.mean() * actuator::throttled_unit(kMostThrottled) >
          0.05);  // the node's own rule: 0.02
    CHECK(steering.trial.in_use());
  }
}

TEST_CASE("training hours differ by number and seed, and are reproducible") {
  TeachOptions options = few_hours();
  const WorldOptions first = learning_world(options, 0), again = learning_world(options, 0),
                     next = learning_world(options, 4);
  CHECK(first.trace->rates_rps == again.trace->rates_rps);
  CHECK(first.seed == again.seed);
  CHECK(first.trace->name == next.trace->name);
  CHECK(first.trace->rates_rps != next.trace->rates_rps);
  options.seed = 2;
  CHECK(learning_world(options, 0).trace->rates_rps != first.trace->rates_rps);
}

TEST_CASE("a student gets a node's inputs, with labels that are probabilities of its actions") {
  const TeachOptions options = few_hours();
  LookingTrainer trainer;
  const auto lessons = teach_student(options, nullptr, trainer, [](double, const std::string&) {});
  REQUIRE(lessons);
  CHECK(trainer.whole);
  CHECK(lessons->examples == 4 * 11);
  CHECK(trainer.seen == 10 * options.batch);
  CHECK(lessons->agreement == doctest::Approx(0.5));
}

TEST_CASE("a teacher that costs more is not reported as better") {
  const TeacherJudgeOptions options = one_trace(100);
  const auto wasteful = std::make_shared<FixedActionNetwork>(choice::action_of(choice::Lever::cpu, 1));
  const auto judgement = judge_teacher(options, wasteful, nullptr, [](double, const std::string&) {});
  REQUIRE(judgement);
  const TeacherEntry& entry = judgement->entries.at(0);
  CHECK(against(entry, kTeacherArm, kRuleArm).above_zero());
  CHECK(better_than_rule(options, *judgement) == std::optional<bool>(false));
  CHECK(teacher_text(options, *judgement).find("is not shown better") != std::string::npos);
}

TEST_CASE("fewer than five seeds give no verdict on a teacher and no interval, and the text says how many are needed") {
  TeacherJudgeOptions options = one_trace(100);
  options.seeds = 1;
  const auto thrifty = std::make_shared<FixedActionNetwork>(choice::action_of(choice::Lever::cpu, -1));
  const auto judgement = judge_teacher(options, thrifty, nullptr, [](double, const std::string&) {});
  REQUIRE(judgement);
  CHECK_FALSE(better_than_rule(options, *judgement).has_value());
  const std::string text = teacher_text(options, *judgement);
  CHECK(text.find("confidence") == std::string::npos);
  CHECK(text.find("not shown better") == std::string::npos);
  CHECK(text.find("no interval and no verdict: 1 seed") != std::string::npos);
  const auto json = wattle::SortedJson::parse(teacher_json(options, *judgement));
  CHECK_FALSE(json.contains("better_than_rule"));
  for (const auto& arm : json.at("entries").at(0).at("arms"))
    if (arm.contains("against_rule")) CHECK(arm.at("against_rule").at("low").is_null());
}

TEST_CASE("a teacher that costs less is reported as better") {
  TeacherJudgeOptions options = one_trace(100);
  options.steer.rule.least_margin = 1;  // a wasteful rule
  options.seeds = 8;
  const auto thrifty = std::make_shared<FixedActionNetwork>(choice::action_of(choice::Lever::cpu, -1));
  const auto judgement = judge_teacher(options, thrifty, nullptr, [](double, const std::string&) {});
  REQUIRE(judgement);
  CHECK(against(judgement->entries.at(0), kTeacherArm, kRuleArm).mean < 0);
  const auto json = wattle::SortedJson::parse(teacher_json(options, *judgement));
  CHECK(json.at("simulated") == true);
  CHECK(json.at("better_than_rule") == better_than_rule(options, *judgement).value());
}
