// adapt: clusters that run for some days and are judged on others; hindsight: comparison on whole recorded days.
#include "lab/ablations/adapt.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "lab/bench/bench.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "sim/env/evaluate.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

// Learns nothing: its weights are what it was given, or, beginning anew, those of another seed. Or it comes to certain weights at
// the first step of imitation.
class Still final : public models::PolicyTrainer {
 public:
  explicit Still(models::Weights weights) : weights_(std::move(weights)) {}
  Still(models::Weights weights, models::Weights then) : weights_(std::move(weights)), then_(std::move(then)) {}
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    CHECK_FALSE(batch.empty());
    models::StepStats stats;
    stats.step = ++steps_;
    return stats;
  }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch, double) override {
    CHECK_FALSE(batch.empty());
    ++imitated;
    if (then_) weights_ = *then_;
    return models::PolicyStats{};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override { return weights_; }
  Status restore(const models::Weights&) override { return {}; }

  std::size_t imitated = 0;

 private:
  models::Weights weights_;
  std::optional<models::Weights> then_;
  std::uint64_t steps_ = 0;
};

// Wants other nodes than the planner does, for no reason.
models::Weights contrary() {
  models::Weights weights = models::initial_weights(5);
  std::vector<float>& out = weights.at("advantage.out.weight").values;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i % 2 == 0 ? 30.0F : -30.0F;
  return weights;
}

Options day_of(std::size_t nodes) {
  Options options;
  options.nodes = nodes;
  options.churn = options.sleep = true;
  options.life_s = 1800;
  options.warm_s = 1800;
  options.measure_s = 2.5 * 3600;
  return options;
}

AdaptOptions small() {
  AdaptOptions options;
  options.online.episode = day_of(3);
  options.online.episodes = 2;
  options.online.learner.warmup = 20;
  options.online.learner.batch = 4;
  options.first_cluster = kFirstHeldOutSeed;
  options.clusters = 2;
  options.judged_days = 1;
  options.start = models::initial_weights(1);
  options.hindsight.labels.per_episode = 6;
  options.hindsight.imitate.epochs = 1;
  options.online.episode.cluster_model = ClusterModel::production;
  options.contestants = {"planner", "start", "online", "free", "guarded"};
  return options;
}

Result<std::unique_ptr<models::PolicyTrainer>> still(const std::optional<models::Weights>& initial) {
  return std::make_unique<Still>(initial.value_or(models::initial_weights(9)));
}

const AdaptRow& row(const AdaptResult& result, const std::string& name) {
  for (const AdaptRow& each : result.rows)
    if (each.name == name) return each;
  FAIL("no row " << name);
  return result.rows.front();
}

TEST_CASE("the same options give the same energies, and a network that learned from a record serves by its verdict") {
  AdaptOptions options = small();
  options.contestants = {"planner", "start", "recorded"};
  options.online.episodes = 3;  // the record begins with the first pod, so that two of them are whole
  const auto result = adapt(data(), options, still);
  REQUIRE(result);
  REQUIRE(result->clusters == std::vector<std::uint64_t>{kFirstHeldOutSeed, kFirstHeldOutSeed + 1});
  CHECK(result->decisions > 0);
  const auto& planner = row(*result, "planner");
  REQUIRE(planner.energy_j.size() == 2);
  CHECK(planner.energy_j[0] != planner.energy_j[1]);
  // Nothing serves that is not surely better than what it could have used.
  CHECK(row(*result, "recorded").serves == std::array<std::size_t, 3>{2, 0, 0});
  CHECK(row(*result, "recorded").energy_j == planner.energy_j);
  const auto again = adapt(data(), options, still);
  REQUIRE(again);
  for (std::size_t i = 0; i < result->rows.size(); ++i) CHECK(again->rows[i].energy_j == result->rows[i].energy_j);
}

TEST_CASE("who has learned nothing is its start, warm and cold") {
  AdaptOptions options = small();
  options.clusters = 1;
  options.online.episode.nodes = 7;      // so many that knowing them makes a difference
  options.online.episode.sleep = false;  // where nodes sleep, the order does not depend on what is known of the pods
  std::vector<double> of_start;
  for (const bool cold : {false, true}) {
    options.cold = cold;
    const auto result = adapt(data(), options, still);
    REQUIRE(result);
    CHECK(result->decisions > 50);
    const auto& start = row(*result, "start");
    of_start.push_back(start.energy_j[0]);
    for (const AdaptRow& each : result->rows) {
      CAPTURE(each.name);
      CHECK(each.energy_j[0] > 0);
      REQUIRE(each.waiting.size() == 1);
      CHECK(each.waiting[0] >= 0);
      CHECK(each.wait_limit[0] > 0);
      // Measured blocks let other candidates serve in turns.
      if (each.name != "planner" && each.name != "guarded") CHECK(each.energy_j == start.energy_j);
    }
  }
  CHECK(of_start[0] != of_start[1]);
}

TEST_CASE("a day in another order has the same pods and the same times of arrival") {
  const Episode day = make_episode(data(), day_of(3), 2);
  const auto pods_of = [](const Episode& episode) {
    std::vector<std::tuple<std::size_t, std::size_t, double>> pods;
    for (const Pod& pod : episode.pods) pods.emplace_back(pod.app, pod.machine, pod.life_s);
    return pods;
  };
  const auto as_it_was = pods_of(day);
  CHECK(pods_of(reordered(day, 0)) == as_it_was);
  CHECK(pods_of(reordered(day, 1)) != pods_of(reordered(day, 2)));
  for (const std::uint64_t order : {std::uint64_t{1}, std::uint64_t{2}}) {
    const Episode other = reordered(day, order);
    REQUIRE(other.pods.size() == day.pods.size());
    for (std::size_t p = 0; p < day.pods.size(); ++p) CHECK(other.pods[p].arrives_s == day.pods[p].arrives_s);
    auto mixed = pods_of(other), sorted = as_it_was;
    CHECK(mixed != as_it_was);
    std::sort(mixed.begin(), mixed.end());
    std::sort(sorted.begin(), sorted.end());
    CHECK(mixed == sorted);
  }
}

TEST_CASE("what was learned is kept only if whole days say so") {
  const models::Weights nothing = models::initial_weights(1);
  const auto untaught = models::FrozenNetwork::from_weights(nothing, 0).value();
  const auto bad = models::FrozenNetwork::from_weights(contrary(), 0).value();
  HindsightOptions options;
  options.imitate.epochs = 2;
  options.labels.per_episode = 4;
  const std::vector<Episode> days{make_episode(data(), day_of(4), 2), make_episode(data(), day_of(4), 4)};
  std::vector<Label> labels;
  for (const Episode& day : days)
    for (Label& label : judge_episode(day, options.labels, untaught)) labels.push_back(std::move(label));
  Still learns_bad(nothing, contrary()), learns_better(contrary(), nothing);
  const auto worse = learn_of_labels(days, labels, untaught, options, learns_bad);
  REQUIRE(worse);
  CHECK(worse->passes == 0);
  for (const auto& [name, tensor] : nothing) CHECK(worse->weights.at(name).values == tensor.values);
  const auto better = learn_of_labels(days, labels, bad, options, learns_better);
  REQUIRE(better);
  CHECK(better->passes == 1);
  const PlayedDays by_planner = play_days(days, nullptr, options.network),
                   by_bad = play_days(days, bad, options.network),
                   by_untaught = play_days(days, untaught, options.network);
  CHECK(by_untaught.energy_j == by_planner.energy_j);
  CHECK(energy_over(by_bad, by_planner, 2).mean > 0);
}

TEST_CASE("neither what was learned nor a bad start serves if the planner is as good") {
  const Interval better{-0.1, -0.2, -0.05}, worse{0.1, 0.05, 0.2}, same{0, 0, 0};
  CHECK(who_serves(same, same, same) == Serves::planner);
  CHECK(who_serves(better, same, worse) == Serves::planner);
  CHECK(who_serves(better, better, worse) == Serves::learned);
  CHECK(who_serves(same, better, better) == Serves::start);
  CHECK(who_serves(better, better, better) == Serves::learned);
  CHECK(who_serves(worse, worse, better) == Serves::start);
}

TEST_CASE("plays of one day count as one value of the energy ratio") {
  const PlayedDays base{std::vector<double>(10, 100.0), {}};
  const PlayedDays played{{90, 80, 95, 85, 90, 110, 100, 105, 115, 90}, {}};  // 0 and 5 are plays of one day
  const Interval once = energy_over({{100, 90, 100, 100, 90}, {}}, {std::vector<double>(5, 100.0), {}}, 5);
  const Interval twice = energy_over(played, base, 5);
  CHECK(twice.mean == doctest::Approx(once.mean));
  CHECK(twice.low == doctest::Approx(once.low));
  CHECK(twice.high == doctest::Approx(once.high));
  for (const std::size_t days : {1U, 2U, 4U}) {
    const Interval few = energy_over(played, base, days);
    CHECK_FALSE(few.known());
    CHECK_FALSE(few.below_zero());
  }
}

TEST_CASE("a quarter of the days judges, and at least five of ten or more") {
  CHECK(days_to_judge(1) == 1);
  CHECK(days_to_judge(9) == 2);
  CHECK(days_to_judge(10) == 5);
  CHECK(days_to_judge(19) == 5);
  CHECK(days_to_judge(24) == 6);
}

}  // namespace
}  // namespace wattle::sim::consolidation
