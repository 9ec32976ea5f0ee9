// adapt, hindsight: clusters that are lived in and judged, a world that is not as told, and what recorded days say of it.
#include "lab/ablations/adapt.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "lab/bench/bench.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/decide/policies/registry.hpp"
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
  options.contestants = {"planner", "informed", "start", "hindsight", "gated"};
  return options;
}
// As a controller is told.
AdaptOptions small_live() {
  AdaptOptions options = small();
  options.online.episode.knowledge = ClusterModel::production;
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

TEST_CASE(
    "who has learned nothing is the planner on every cluster, whatever path it took, and the same options give the "
    "same") {
  const AdaptOptions options = small();
  const auto result = adapt(data(), options, still);
  REQUIRE(result);
  REQUIRE(result->clusters == std::vector<std::uint64_t>{kFirstHeldOutSeed, kFirstHeldOutSeed + 1});
  CHECK(result->decisions > 0);
  const auto& planner = row(*result, "planner");
  REQUIRE(planner.energy_j.size() == 2);
  CHECK(planner.energy_j[0] != planner.energy_j[1]);
  for (const AdaptRow& each : result->rows) {
    CAPTURE(each.name);
    CHECK(each.energy_j == planner.energy_j);
    CHECK(each.waiting.empty());  // nobody waits on the kernel
    REQUIRE(each.over_start);
    CHECK(each.over_start->mean == doctest::Approx(0));
  }
  // The gate lets nothing serve that is not surely better than what it could have used.
  CHECK(row(*result, "gated").serves == std::array<std::size_t, 3>{2, 0, 0});
  const auto again = adapt(data(), options, still);
  REQUIRE(again);
  for (std::size_t i = 0; i < result->rows.size(); ++i) CHECK(again->rows[i].energy_j == result->rows[i].energy_j);
}

TEST_CASE("told by telemetry, who has learned nothing is its start, warm and cold; who is not played so is refused") {
  AdaptOptions options = small_live();
  options.clusters = 1;
  options.online.episode.nodes = 7;  // so many that knowing them makes a difference
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
      if (each.name != "planner") CHECK(each.energy_j == start.energy_j);
    }
  }
  CHECK(of_start[0] != of_start[1]);
  for (const char* told : {"informed", "hindsight", "gated"}) {
    options.contestants = {told};
    CHECK(adapt(data(), options, still).error().mend.find("oracle") != std::string::npos);
  }
  options = small_live();
  options.online.episode.shift.odd_watts = 2;
  CHECK(adapt(data(), options, still).error().code == Errc::out_of_range);
  options = small();
  for (const char* live : {"online", "free", "scratch", "guarded"}) {
    options.contestants = {live};
    CHECK(adapt(data(), options, still).error().mend.find("production") != std::string::npos);
  }
}

TEST_CASE("in a world whose watts are not as told the planner that is told them is another, and does better") {
  AdaptOptions options = small();
  options.clusters = 4;
  options.online.episode.nodes = 6;
  options.online.episode.shift.odd_watts = 2.5;
  options.contestants = {"planner", "informed"};
  const auto result = adapt(data(), options, still);
  REQUIRE(result);
  REQUIRE(row(*result, "informed").over_planner);
  CHECK(row(*result, "informed").over_planner->mean < 0);
}

TEST_CASE("a shift is true of the cluster and told to nobody") {
  Options drawn = day_of(5);
  const Episode plain = make_episode(data(), drawn, 3);
  drawn.shift.odd_watts = 2;
  drawn.shift.interference = 3;
  const Episode shifted = make_episode(data(), drawn, 3);
  Cluster a(plain), b(shifted);
  for (std::size_t i = 0; i < 5; ++i) CHECK(a.fleet().nodes[i].watts == b.fleet().nodes[i].watts);
  for (std::size_t p = 0; p < 40; ++p) {
    for (Cluster* each : {&a, &b}) each->advance_to(plain.pods[p].arrives_s);
    CHECK(a.ask(p).demand_cores == b.ask(p).demand_cores);
    for (Cluster* each : {&a, &b}) each->place(p, p % 5);
  }
  for (std::size_t i = 0; i < 5; ++i) CHECK(a.fleet().nodes[i].used_cores == b.fleet().nodes[i].used_cores);
  CHECK(a.energy_j() != b.energy_j());
  // Interference alone can only cost.
  drawn.shift.odd_watts = 1;
  const Episode crowded = make_episode(data(), drawn, 3);
  const auto one = placement::make_policy("planner").value(), two = placement::make_policy("planner").value();
  CHECK(run(crowded, *one).energy_j > run(plain, *two).energy_j);
}

TEST_CASE("what is recorded of a day has no shift, and under imitated knowledge the curves that were fitted") {
  Options drawn = day_of(4);
  drawn.shift.odd_watts = 2;
  const Episode lived = make_episode(data(), drawn, 5);
  const Episode record = recorded(lived, {}, 0);
  CHECK(record.options.shift.odd_watts == 1);
  for (std::size_t i = 0; i < 4; ++i) CHECK(record.servers[i].watts == lived.servers[i].watts);
  drawn.knowledge = ClusterModel::imitated;
  const Episode measured = recorded(make_episode(data(), drawn, 5), {}, 0);
  for (std::size_t i = 0; i < 4; ++i) CHECK(measured.servers[i].watts != lived.servers[i].watts);
  // Who else lives the day wakes other nodes, which are read then.
  const std::shared_ptr<const models::QNetwork> other = models::FrozenNetwork::from_weights(contrary(), 0).value();
  const Episode both = recorded(make_episode(data(), drawn, 5), std::span(&other, 1), 0);
  bool differs = false;
  for (std::size_t i = 0; i < 4; ++i) differs = differs || both.servers[i].watts != measured.servers[i].watts;
  CHECK(differs);
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

TEST_CASE(
    "what was learned is kept only if whole days say so, and neither it nor a bad start serves if the planner is as "
    "good") {
  const models::Weights nothing = models::initial_weights(1);
  const auto untaught = models::FrozenNetwork::from_weights(nothing, 0).value();
  const auto bad = models::FrozenNetwork::from_weights(contrary(), 0).value();
  HindsightOptions options;
  options.labels.per_episode = 4;
  options.imitate.epochs = 2;
  options.plays = 12;
  std::vector<Episode> days;  // five judge, and so there are intervals
  for (std::uint64_t seed = 2; seed <= 20; seed += 2) days.push_back(make_episode(data(), day_of(4), seed));
  Still learns_bad(nothing, contrary()), learns_better(contrary(), nothing);
  const auto worse = learn_by_hindsight(days, untaught, options, learns_bad);
  REQUIRE(worse);
  CHECK(worse->passes == 0);
  for (const auto& [name, tensor] : nothing) CHECK(worse->weights.at(name).values == tensor.values);
  CHECK(worse->learned_over_start.mean == 0);
  CHECK(worse->serves == Serves::planner);  // the start is the planner
  const auto better = learn_by_hindsight(days, bad, options, learns_better);
  REQUIRE(better);
  CHECK(better->passes == 1);
  CHECK(better->learned_over_start.below_zero());
  CHECK(better->learned_over_planner.mean == 0);
  CHECK(better->start_over_planner.above_zero());
  CHECK(better->serves == Serves::planner);
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

TEST_CASE("plays of fewer than five days give no interval, however many plays there are, and the planner serves") {
  const auto bad = models::FrozenNetwork::from_weights(contrary(), 0).value();
  HindsightOptions options;
  options.labels.per_episode = 4;
  options.imitate.epochs = 1;
  options.plays = 12;
  Still learns_better(contrary(), models::initial_weights(1));
  const std::vector<Episode> days{make_episode(data(), day_of(4), 2), make_episode(data(), day_of(4), 4)};
  const auto found = learn_by_hindsight(days, bad, options, learns_better);
  REQUIRE(found);
  CHECK(found->learned_over_start.mean < 0);
  for (const Interval& each : {found->learned_over_start, found->learned_over_planner, found->start_over_planner})
    CHECK_FALSE(each.known());
  CHECK(found->serves == Serves::planner);
  CHECK(days_to_judge(1) == 1);
  CHECK(days_to_judge(9) == 2);
  CHECK(days_to_judge(10) == 5);
  CHECK(days_to_judge(19) == 5);
  CHECK(days_to_judge(24) == 6);
}

TEST_CASE("hindsight needs a day to learn from and one to judge by, and is the same for the same days") {
  const auto start = models::FrozenNetwork::from_weights(models::initial_weights(1), 0).value();
  HindsightOptions options;
  options.labels.per_episode = 5;
  options.imitate.epochs = 2;
  options.imitate.batch = 2;
  std::vector<Episode> days{make_episode(data(), day_of(3), 2)};
  Still trainer(models::initial_weights(1));
  const auto refused = learn_by_hindsight(days, start, options, trainer);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_range);
  days.push_back(make_episode(data(), day_of(3), 4));
  const auto learned = learn_by_hindsight(days, start, options, trainer);
  REQUIRE(learned);
  CHECK(learned->labels == 5);
  CHECK(trainer.imitated == 2 * 3);  // two passes of five decisions by two
  CHECK(learned->serves == Serves::planner);
}

}  // namespace
}  // namespace wattle::sim::consolidation
