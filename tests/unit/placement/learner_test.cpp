// learner: transitions by hand, with a trainer that only records its input.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "placement/learn/learner.hpp"

namespace wattle::placement {
namespace {

class KeepingTrainer final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    for (const models::Transition* transition : batch) seen.push_back(*transition);
    ++steps_;
    models::StepStats stats;
    stats.loss = 0.5;
    stats.error2 = 0.25;
    stats.mean_error = 0.125;
    stats.step = steps_;
    return stats;
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return {}; }
  models::Weights checkpoint() const override { return {}; }
  Status restore(const models::Weights&) override { return {}; }
  std::vector<models::Transition> seen;

 private:
  std::uint64_t steps_ = 0;
};

models::Observation marked(float mark, std::size_t nodes = 3) {
  models::Observation observation;
  observation.nodes = nodes;
  observation.node.assign(nodes * models::kNodeFeatures, mark);
  for (std::size_t row = 0; row < nodes; ++row) observation.node[row * models::kNodeFeatures] = static_cast<float>(row);
  observation.prior.assign(nodes, 0.0F);
  observation.valid.assign(nodes, 1);
  observation.pod[15] = mark;
  return observation;
}

// el-rl without constraints ends; ee is 10 x the share of unused workers; lb: 10, 0, -1.
RawOutcome outcome(std::uint64_t chosen_pods) {
  RawOutcome raw;
  std::vector<WorkerBefore> workers(3);
  workers[0].pods = chosen_pods;
  workers[1].pods = 1;
  workers[2].pods = 5;
  raw.before = summed(workers, 0);
  return raw;  // lb: 10 for 0 or 1 pods, 0 for 2..4, -1 and end for 5 and more
}

LearnerOptions options(std::size_t n_step) {
  LearnerOptions result;
  result.n_step = n_step;
  result.warmup = 1;
  result.batch = 64;
  result.tau_s = 10;
  result.reward_centre = 0;
  return result;
}

RewardConfig lb() {
  RewardConfig config;
  config.preset = Preset::lb;
  return config;
}

MonoTime at(double s) { return MonoTime(from_seconds(s)); }

const models::Transition* from(const KeepingTrainer& trainer, float mark) {
  for (const models::Transition& transition : trainer.seen)
    if (transition.state.pod[15] == mark) return &transition;
  return nullptr;
}

TEST_CASE("n-step transitions have the computed rewards and discounts") {
  KeepingTrainer trainer;
  Learner learner(options(2), lb(), trainer);
  const std::array<double, 4> when = {0, 2, 5, 6};
  for (std::size_t i = 0; i < 4; ++i)
    learner.placed(i + 1, marked(static_cast<float>(i)), static_cast<std::uint32_t>(i % 3), at(when[i]));
  CHECK(learner.figures().replay == 0);
  CHECK(learner.settled(1, outcome(0)).value().value == 10);
  CHECK(learner.settled(2, outcome(3)).value().value == 0);
  CHECK(learner.settled(3, outcome(1)).value().value == 10);
  CHECK(learner.figures().replay == 2);
  CHECK(learner.step().value()->loss == 0.5);
  const models::Transition* first = from(trainer, 0);
  REQUIRE(first != nullptr);
  CHECK(first->action == 0);
  CHECK(first->reward == doctest::Approx(10 + std::exp(-0.2) * 0));
  CHECK(first->discount == doctest::Approx(std::exp(-0.5)));
  CHECK(first->next.pod[15] == 2);
  const models::Transition* second = from(trainer, 1);
  REQUIRE(second != nullptr);
  CHECK(second->reward == doctest::Approx(0 + std::exp(-0.3) * 10));
  CHECK(second->discount == doctest::Approx(std::exp(-0.4)));
  CHECK(second->next.pod[15] == 3);
  CHECK(from(trainer, 2) == nullptr);
}

TEST_CASE("a horizon in placements discounts by placements, at any rate of arrival") {
  LearnerOptions by_placement = options(2);
  by_placement.tau_s = -4;
  KeepingTrainer trainer;
  Learner learner(by_placement, lb(), trainer);
  const std::array<double, 4> when = {0, 0.01, 500, 501};
  for (std::size_t i = 0; i < 4; ++i)
    learner.placed(i + 1, marked(static_cast<float>(i)), static_cast<std::uint32_t>(i % 3), at(when[i]));
  REQUIRE(learner.settled(1, outcome(3)));
  REQUIRE(learner.settled(2, outcome(0)));
  REQUIRE(learner.step());
  const models::Transition* first = from(trainer, 0);
  REQUIRE(first != nullptr);
  CHECK(first->reward == doctest::Approx(0 + std::exp(-0.25) * 10));
  CHECK(first->discount == doctest::Approx(std::exp(-0.5)));
}

TEST_CASE("the end of an episode cuts a transition without a bootstrap value") {
  KeepingTrainer trainer;
  Learner learner(options(3), lb(), trainer);
  learner.placed(1, marked(0), 0, at(0));
  learner.placed(2, marked(1), 0, at(1));
  REQUIRE(learner.settled(2, outcome(9)).has_value());
  REQUIRE(learner.settled(1, outcome(0)).has_value());
  REQUIRE(learner.step().has_value());
  const models::Transition* first = from(trainer, 0);
  REQUIRE(first != nullptr);
  CHECK(first->reward == doctest::Approx(10 - std::exp(-0.1)));
  CHECK(first->discount == 0);
  CHECK(first->next.nodes == 0);
  REQUIRE(from(trainer, 1) != nullptr);
  CHECK(from(trainer, 1)->reward == -1);
}

TEST_CASE("drs: an episode ends with its hundredth placement, also over a restart; other presets' do not") {
  RewardConfig drs;
  drs.preset = Preset::drs;
  KeepingTrainer trainer;
  Learner saved(options(3), drs, trainer), learner(options(3), drs, trainer);
  for (std::uint64_t i = 0; i < 105; ++i) {
    saved.placed(i, marked(static_cast<float>(i)), 0, at(static_cast<double>(i)));
    RawOutcome raw = outcome(9);
    raw.placement = i;
    const auto paid = saved.settled(i, raw);
    REQUIRE(paid.has_value());
    CHECK(paid->end_of_episode == (i == 99));
  }
  REQUIRE(learner.restore(saved.save()).has_value());
  const auto cut = [&](float mark) {
    trainer.seen.clear();
    for (int step = 0; step < 200 && from(trainer, mark) == nullptr; ++step) REQUIRE(learner.step().has_value());
    const models::Transition* found = from(trainer, mark);
    REQUIRE(found != nullptr);
    return found->next.nodes == 0 && found->discount == 0;
  };
  CHECK_FALSE(cut(96));
  for (const float last : {97.0F, 98.0F, 99.0F}) CHECK(cut(last));
  CHECK_FALSE(cut(100));
  RewardConfig weighted;
  learner.set_reward(weighted);
  CHECK_FALSE(cut(99));
}

TEST_CASE("a late outcome is lost and counted, and the chain bootstraps at the gap") {
  KeepingTrainer trainer;
  Learner learner(options(3), lb(), trainer);
  learner.placed(1, marked(0), 0, at(0));
  learner.placed(2, marked(1), 0, at(4));
  REQUIRE(learner.settled(1, outcome(0)).has_value());
  learner.expire(at(124));
  CHECK(learner.figures().expired == 0);
  learner.expire(at(125));
  CHECK(learner.figures().expired == 1);
  CHECK(learner.settled(2, outcome(0)).error().code == Errc::not_found);
  CHECK(learner.settled(7, outcome(0)).error().code == Errc::not_found);
  CHECK(learner.settled(1, outcome(0)).error().code == Errc::not_found);
  REQUIRE(learner.step().has_value());
  REQUIRE(from(trainer, 0) != nullptr);
  CHECK(from(trainer, 0)->reward == 10);
  CHECK(from(trainer, 0)->discount == doctest::Approx(std::exp(-0.4)));
  CHECK(from(trainer, 0)->next.pod[15] == 1);
  CHECK(from(trainer, 1) == nullptr);
}

TEST_CASE("an outcome that is reported lost does not block later ones") {
  KeepingTrainer trainer;
  Learner learner(options(1), lb(), trainer);
  for (std::uint64_t id = 1; id <= 3; ++id)
    learner.placed(id, marked(static_cast<float>(id)), 0, at(static_cast<double>(id)));
  REQUIRE(learner.settled(2, outcome(0)));
  CHECK(learner.figures().replay == 0);  // the first may still arrive
  learner.lost(1);
  CHECK(learner.figures().expired == 1);
  CHECK(learner.figures().replay == 1);
  learner.lost(1);  // repeated, settled or unknown: no effect
  learner.lost(2);
  learner.lost(9);
  CHECK(learner.figures().expired == 1);
  CHECK_FALSE(learner.settled(1, outcome(0)));
}

TEST_CASE("another reward relabels stored experience") {
  KeepingTrainer trainer;
  Learner learner(options(1), lb(), trainer);
  learner.placed(1, marked(0), 0, at(0));
  learner.placed(2, marked(1), 0, at(1));
  REQUIRE(learner.settled(1, outcome(0)).has_value());
  RewardConfig ee;
  ee.preset = Preset::ee;
  learner.set_reward(ee);
  REQUIRE(learner.step().has_value());
  REQUIRE(from(trainer, 0) != nullptr);
  CHECK(from(trainer, 0)->reward == 0);    // not the most loaded
  CHECK(from(trainer, 0)->discount == 0);  // ends the episode
}

TEST_CASE("mean rewards and errors are of one reward; another one restarts them from stored experience") {
  KeepingTrainer trainer;
  Learner learner(options(1), lb(), trainer);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    learner.placed(id, marked(static_cast<float>(id)), 0, at(static_cast<double>(id)));
    REQUIRE(learner.settled(id, outcome(0)).has_value());
  }
  REQUIRE(learner.step().has_value());
  CHECK(learner.figures().mean_reward == 10);
  CHECK(learner.figures().steps_judged == 1);
  RewardConfig ee;
  ee.preset = Preset::ee;
  learner.set_reward(ee);
  CHECK(learner.figures().mean_reward == 0);  // none chose a most loaded node
  CHECK(learner.figures().steps_judged == 0);
  CHECK(learner.figures().loss == 0);
  CHECK(learner.figures().settled == 3);
  SUBCASE("the same reward restarts nothing") {
    REQUIRE(learner.step().has_value());
    learner.set_reward(ee);
    CHECK(learner.figures().steps_judged == 1);
  }
  SUBCASE("a checkpoint does not add figures of another reward") {
    Learner before(options(1), lb(), trainer);
    before.placed(1, marked(1), 0, at(1));
    REQUIRE(before.settled(1, outcome(0)).has_value());
    REQUIRE(learner.restore(before.save()).has_value());
    CHECK(learner.figures().mean_reward == 0);
    learner.placed(2, marked(2), 0, at(2));
    REQUIRE(learner.settled(2, outcome(1)).has_value());
    Learner same(options(1), lb(), trainer);
    REQUIRE(same.restore(before.save()).has_value());
    CHECK(same.figures().mean_reward == 10);
  }
}

TEST_CASE("large observations are thinned and keep the action") {
  KeepingTrainer trainer;
  Learner learner(options(1), lb(), trainer);
  learner.placed(1, marked(0, 500), 321, at(0));
  learner.placed(2, marked(1, 500), 7, at(1));
  REQUIRE(learner.settled(1, outcome(0)).has_value());
  REQUIRE(learner.step().has_value());
  const models::Transition& seen = trainer.seen.front();
  CHECK(seen.state.nodes == 64);
  CHECK(seen.state.node.size() == 64 * models::kNodeFeatures);
  CHECK(seen.state.node[seen.action * models::kNodeFeatures] == 321);
}

TEST_CASE("replay and memory stay within their bounds") {
  KeepingTrainer trainer;
  LearnerOptions bounded = options(1);
  bounded.replay_capacity = 20;
  Learner learner(bounded, lb(), trainer);
  for (std::uint64_t i = 1; i < 200; ++i) {
    learner.placed(i, marked(0), 0, at(static_cast<double>(i)));
    REQUIRE(learner.settled(i, outcome(0)).has_value());
  }
  CHECK(learner.figures().replay == 20);
  REQUIRE(learner.step().has_value());
}

TEST_CASE("a restored learner continues exactly as the saved one, and damage is refused by name") {
  KeepingTrainer trainer_a, trainer_b;
  Learner a(options(2), lb(), trainer_a);
  for (std::uint64_t i = 0; i < 30; ++i) {
    a.placed(i + (1ULL << 60U), marked(static_cast<float>(i)), static_cast<std::uint32_t>(i % 3),
             at(1e6 + 0.123456789 * static_cast<double>(i)));
    RawOutcome raw = outcome(i % 7);
    raw.latency_ms = 1.0 / 3;
    raw.deviations_pct = 2.0 / 3;
    if (i < 25) REQUIRE(a.settled(i + (1ULL << 60U), raw).has_value());
  }
  REQUIRE(a.step().has_value());
  const models::Weights saved = a.save();
  Learner b(options(2), lb(), trainer_b);
  REQUIRE(b.restore(saved).has_value());
  trainer_a.seen.clear();
  for (Learner* learner : {&a, &b}) {
    REQUIRE(learner->settled(27 + (1ULL << 60U), outcome(0)).has_value());
    REQUIRE(learner->settled(25 + (1ULL << 60U), outcome(0)).has_value());
    REQUIRE(learner->step().has_value());
  }
  REQUIRE(trainer_a.seen.size() == trainer_b.seen.size());
  for (std::size_t i = 0; i < trainer_a.seen.size(); ++i) {
    const models::Transition &x = trainer_a.seen[i], &y = trainer_b.seen[i];
    CHECK(x.reward == y.reward);
    CHECK(x.discount == y.discount);
    CHECK(x.action == y.action);
    CHECK(x.state.node == y.state.node);
    CHECK(x.next.pod == y.next.pod);
  }
  CHECK(a.figures().settled == b.figures().settled);
  CHECK(a.figures().mean_reward == b.figures().mean_reward);
  CHECK(a.figures().td_error == b.figures().td_error);
  CHECK(a.figures().centre == b.figures().centre);

  models::Weights damaged = saved;
  damaged.erase("replay/pod");
  CHECK(b.restore(damaged).error().message().find("replay/pod") != std::string::npos);
  damaged = saved;
  damaged["replay/words"].values[40] = 0.5F;
  CHECK_FALSE(b.restore(damaged).has_value());
  damaged = saved;
  damaged["replay/prior"].values.pop_back();
  CHECK_FALSE(b.restore(damaged).has_value());
}

TEST_CASE("a restored learner reports its earlier learning before its first step") {
  KeepingTrainer trainer_a, trainer_b;
  LearnerOptions centred = options(2);
  centred.reward_centre.reset();
  Learner a(centred, lb(), trainer_a);
  for (std::uint64_t i = 0; i < 30; ++i) {
    a.placed(i, marked(static_cast<float>(i)), static_cast<std::uint32_t>(i % 3), at(static_cast<double>(i)));
    REQUIRE(a.settled(i, outcome(i % 7)).has_value());
  }
  CHECK_FALSE(a.figures().td_error);
  for (int i = 0; i < 5; ++i) REQUIRE(a.step().has_value());
  REQUIRE(a.figures().td_error);
  REQUIRE(a.figures().centre != 0);
  Learner b(centred, lb(), trainer_b);
  const models::Weights saved = a.save();
  REQUIRE(b.restore(saved));
  CHECK(b.figures().td_error == a.figures().td_error);
  CHECK(b.figures().centre == a.figures().centre);
  CHECK(b.figures().loss == a.figures().loss);
  CHECK(b.figures().mean_q == a.figures().mean_q);
  // A checkpoint of 0.1 has no error, so it is unknown, not 0.
  models::Weights former = saved;
  former.erase("replay/td_error");
  Learner c(centred, lb(), trainer_b);
  REQUIRE(c.restore(former));
  CHECK_FALSE(c.figures().td_error);
  // Another reward has another centre.
  c.set_reward({});
  CHECK(c.figures().centre == 0);
}

TEST_CASE("experience judged by a formula is restored, and judged by the current formula") {
  KeepingTrainer trainer;
  RewardConfig config;
  config.preset = Preset::expression;
  config.formula = Formula::compile("energy").value();
  Learner saver(options(2), config, trainer);
  saver.placed(1, marked(1), 0, at(1));
  RawOutcome raw = outcome(1);
  raw.cpu_some_ratio = 0.5;
  REQUIRE(saver.settled(1, raw).has_value());
  config.formula = Formula::compile("energy + 2 * contention").value();
  Learner later(options(1), config, trainer);
  const Status restored = later.restore(saver.save());
  if (!restored) FAIL(restored.error().message());
  later.placed(2, marked(2), 0, at(2));
  REQUIRE(later.settled(2, raw).has_value());
  REQUIRE(later.step().has_value());
  const models::Transition* const judged = from(trainer, 1);
  REQUIRE(judged != nullptr);
  CHECK(judged->reward == doctest::Approx(-1));
}

}  // namespace
}  // namespace wattle::placement
