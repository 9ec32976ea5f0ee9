// The value of a student if latency is unknown, trained as a controller trains it: from minutes of services with known
// latency, which the rule steers. Five trainings, each judged on its own requests.
#include <doctest/doctest.h>

#include <cstdio>

#include "common/stats/bootstrap.hpp"
#include "lab/contestants/contestants.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "provision/minute/student_trainer.hpp"
#include "sim/provision/steering.hpp"
#include "sim/provision/teach.hpp"

using namespace wattle;
using namespace wattle::sim::provision;
namespace choice = wattle::models::provision;

namespace {

constexpr std::uint64_t kSeeds = 5;
constexpr std::size_t kMostHours = 100;
constexpr std::uint64_t kJudgedTraces = 4711, kJudgedSeed = 3'000'000;
constexpr std::size_t kJudgedSeconds = 2400;

using Network = std::shared_ptr<const models::QNetwork>;

// The latency rule steers, and each minute is a lesson.
class Lived final : public Steering {
 public:
  explicit Lived(choice::StudentTrainer& trainer) : trainer_(trainer) {}
  choice::Setting minute(std::size_t service, const MinuteOfService& seen) override {
    ++minutes_;
    if (!weights_) {
      auto offered = trainer_.add(choice::lesson(choice::view_on_a_node(seen.state, seen.local_rule_margin).observation,
                                                 choice::observe(seen.state, seen.bounds), nullptr));
      REQUIRE(offered);
      weights_ = std::move(*offered);
    }
    return rule_.minute(service, seen);
  }
  const std::optional<models::Weights>& weights() const { return weights_; }
  std::size_t minutes() const { return minutes_; }

 private:
  choice::StudentTrainer& trainer_;
  RuleSteering rule_;
  std::optional<models::Weights> weights_;
  std::size_t minutes_ = 0;
};

Network trained(std::uint64_t seed) {
  auto made = models::make_torch_policy_trainer({.seed = seed});
  REQUIRE(made);
  choice::StudentTrainerOptions options;
  options.seed = seed;
  choice::StudentTrainer trainer(options, std::move(*made));
  Lived lived(trainer);
  TeachOptions hours;
  hours.seed = seed;
  for (std::size_t hour = 0; hour < kMostHours && !lived.weights(); ++hour) {
    const WorldOptions world = learning_world(hours, hour);
    Steered services(world, hours.steer, lived);
    REQUIRE(play(World(world), services));
  }
  REQUIRE(lived.weights());
  std::printf("seed %llu: trained after %zu minutes, repeats %.2f of the rule's choices, throttling %.2f\n",
              static_cast<unsigned long long>(seed), lived.minutes(), trainer.agreement()->student,
              trainer.agreement()->rule);
  return models::FrozenNetwork::from_weights(*lived.weights(), 0).value();
}

struct Judged {
  double cost = 0, cores = 0, over = 0;  // over: share of minutes
};

Judged judged(const RateTrace& trace, std::uint64_t seed, Steering& steering) {
  WorldOptions world;
  world.trace = std::make_shared<const RateTrace>(trace);
  world.seed = kJudgedSeed + seed;
  const SteerOptions steer;
  Steered services(world, steer, steering);
  const auto figures = play(World(world), services);
  REQUIRE(figures);
  return {cost_of(*figures, steer.price).cost, figures->granted_cores,
          static_cast<double>(figures->minutes_over) / static_cast<double>(figures->minutes)};
}

}  // namespace

TEST_CASE("a student of live minutes costs less than throttling does, on held-out rates and requests") {
  std::vector<Network> students;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) students.push_back(trained(seed));
  double over = 0, traces = 0;
  for (const RateTrace& trace : synthetic_rates(kJudgedTraces, kJudgedSeconds)) {
    std::vector<double> with, without, knowing;
    double late = 0, late_without = 0, cores = 0, cores_without = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      NetworkSteering student(students[seed - 1], true);
      RuleSteering throttling(true), latency;
      const Judged one = judged(trace, seed, student), other = judged(trace, seed, throttling);
      with.push_back(one.cost);
      without.push_back(other.cost);
      knowing.push_back(judged(trace, seed, latency).cost);
      late += one.over / kSeeds;
      late_without += other.over / kSeeds;
      cores += one.cores / kSeeds;
      cores_without += other.cores / kSeeds;
    }
    const stats::Interval gain = stats::paired_ratio(with, without), behind = stats::paired_ratio(with, knowing);
    std::printf(
        "%s: cost against throttling %s, against the rule by latency %s; cores %.3f of %.3f; minutes over %.1f%% of "
        "%.1f%%\n",
        trace.name.c_str(), stats::interval_text(gain, {1, 100, true, "%"}).c_str(),
        stats::interval_text(behind, {1, 100, true, "%"}).c_str(), cores, cores_without, 100 * late,
        100 * late_without);
    CHECK(gain.below_zero());
    over += late;
    ++traces;
  }
  CHECK(over / traces < 0.05);  // the target's allowance
}
