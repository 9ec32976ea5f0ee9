// A student learns its teacher's behaviour from a view without latency.
#include "provision/minute/student_trainer.hpp"

#include <doctest/doctest.h>

#include "loud_weights.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "provision/minute/lesson.hpp"
#include "provision/minute/student_file.hpp"

using namespace wattle;
using namespace wattle::models;
using namespace wattle::models::provision;

namespace {

// Minutes of services in which latency follows throttling, though less than a node's rule assumes.
class Minutes {
 public:
  explicit Minutes(std::uint64_t seed) : random_(seed) {}
  PolicyExample next(const QNetwork* teacher = nullptr) {
    ServiceMinute state;
    state.now.margin_ratio = stats::uniform(random_, -0.1, 0.6);
    state.throttled_ratio = std::max(0.0, 0.3 - 0.5 * state.now.margin_ratio + stats::uniform(random_, -0.03, 0.03));
    state.used_over_granted = 1 / (1.1 + state.now.margin_ratio);
    state.used_over_node = 0.2;
    state.deviation_ratio = stats::uniform(random_, 0.1, 0.3);
    state.peak_ratio = 1 + 2 * state.deviation_ratio;
    const double late = std::max(0.0, 0.2 * (state.throttled_ratio - 0.15));
    state.latency = Latency{late, 1, late};
    state.rule_margin_ratio = std::clamp(state.now.margin_ratio + 10 * (late - 0.003), -0.1, 4.0);
    const Observation whole = observe(state, bounds_of(false, 1, std::nullopt));
    const double by_throttling = std::min(state.now.margin_ratio + 10 * (state.throttled_ratio - 0.02), 4.0);
    return lesson(view_on_a_node(state, by_throttling).observation, whole, teacher);
  }

 private:
  stats::Random random_;
};

std::unique_ptr<PolicyTrainer> policy_network() {
  auto made = make_torch_policy_trainer({});
  REQUIRE(made);
  return std::move(*made);
}

StudentTrainerOptions small_options() {
  StudentTrainerOptions options;
  options.lessons = 400;
  options.held_out = 100;
  options.least_held_out = 50;
  options.warmup = 100;
  options.batch = 32;
  options.steps = 300;
  options.judge_every = 50;
  return options;
}

struct Learned {
  Weights weights;
  std::size_t lessons = 0, kept = 0;
  Agreement agreement;
};

std::optional<Learned> learn(const QNetwork* teacher, std::size_t most = 800) {
  StudentTrainer student(small_options(), policy_network());
  Minutes minutes(3);
  Learned learned;
  while (learned.lessons < most) {
    auto offered = student.add(minutes.next(teacher));
    REQUIRE(offered);
    ++learned.lessons;
    learned.kept = std::max(learned.kept, student.lessons());
    if (!*offered) continue;
    learned.weights = std::move(**offered);
    learned.agreement = student.agreement().value();
    return learned;
  }
  return std::nullopt;
}

std::deque<PolicyExample> held_out_minutes(const QNetwork* teacher) {
  std::deque<PolicyExample> lessons;
  Minutes minutes(99);
  for (int i = 0; i < 300; ++i) lessons.push_back(minutes.next(teacher));
  return lessons;
}

}  // namespace

TEST_CASE("a student of the rule, and of a network, repeats its teacher's choices in held-out minutes") {
  const auto network = FrozenNetwork::from_weights(wattle::test::loud_weights(), 1);
  REQUIRE(network);
  for (const QNetwork* teacher : std::initializer_list<const QNetwork*>{nullptr, network->get()}) {
    const auto learned = learn(teacher);
    REQUIRE(learned);
    CHECK(learned->agreement.student > learned->agreement.rule);
    CHECK(learned->kept <= small_options().lessons);
    const auto student = FrozenNetwork::from_weights(learned->weights, 0);
    REQUIRE(student);
    const Agreement agreement = agreement_of(held_out_minutes(teacher), student->get());
    CHECK(agreement.student > 0.85);
    CHECK(agreement.student > agreement.rule + 0.1);
  }
}

TEST_CASE("the same lessons and seed give the same weights, and a file that a node accepts") {
  const auto one = learn(nullptr), other = learn(nullptr);
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->lessons == other->lessons);
  const std::string bytes = to_safetensors(student_model(one->weights));
  CHECK(bytes == to_safetensors(student_model(other->weights)));
  CHECK(parse_student(bytes, "student"));
  std::string damaged = bytes;
  damaged[damaged.size() - 3] ^= 1;
  CHECK_FALSE(parse_student(damaged, "student"));
  CHECK_FALSE(parse_student(bytes.substr(0, bytes.size() / 2), "student"));
}

TEST_CASE("a student that learns nothing is never offered") {
  class Unmoved final : public PolicyTrainer {
   public:
    Result<StepStats> step(std::span<const Transition* const>) override { return StepStats{}; }
    Result<PolicyStats> imitate(std::span<const PolicyExample* const>, double) override {
      ++steps_;
      return PolicyStats{};
    }
    std::uint64_t steps() const override { return steps_; }
    Weights weights() const override { return initial_weights(1); }
    Weights checkpoint() const override { return {}; }
    Status restore(const Weights&) override { return {}; }

   private:
    std::uint64_t steps_ = 0;
  };
  StudentTrainer student(small_options(), std::make_unique<Unmoved>());
  Minutes minutes(3);
  for (int i = 0; i < 800; ++i) CHECK_FALSE(student.add(minutes.next()).value());
  CHECK(student.agreement()->student == student.agreement()->rule);
  CHECK(student.lessons() == small_options().lessons);
}
