// The trainer with a fake network behind the interface. These cases run without libtorch.
#include "controller/trainer/trainer.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>

#include "models/frozen/layout.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"
#include "tests/unit/placement/views.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

class CountingNetwork final : public models::QTrainer {
 public:
  explicit CountingNetwork(float poison = 0) : weights_(models::initial_weights(1)) {
    if (poison != 0) weights_.at("value.out.bias").values[0] = poison;
  }
  Result<models::StepStats> step(std::span<const models::Transition* const>) override {
    ++steps_;
    return models::StepStats{0.5, 0, 0, 0, steps_};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override { return weights_; }
  Status restore(const models::Weights& saved) override {
    weights_ = saved;
    return {};
  }

 private:
  models::Weights weights_;
  std::uint64_t steps_ = 0;
};

std::deque<models::Observation> one_observation() {
  models::Observation observation;
  observation.nodes = 2;
  observation.node.assign(2 * models::kNodeFeatures, 0.5F);
  observation.prior = {0, 0};
  observation.valid = {1, 1};
  return {observation};
}

}  // namespace

namespace {

// Mean reward of the last of a thousand placements, as a controller places them under `lb` with the default
// configuration, and the share of placements with equal rewards on all nodes.
struct TableLived {
  double paid = 0, alike_ratio = 0;
};

TableLived live_with_table(std::uint64_t seed) {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-table-XXXXXX").string();
  REQUIRE(mkdtemp(path.data()) != nullptr);
  constexpr std::size_t kNodes = 7, kPlacements = 1000, kLast = 200;
  ManualClock clock;
  const Log log = Log::silent();
  ServingModel slot;
  LearnConfig config;
  config.tabular = true;
  config.warmup = 16;
  placement::RewardConfig reward;
  reward.preset = placement::Preset::lb;
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  placement::ClusterView view;
  for (std::size_t i = 0; i < kNodes; ++i)
    view.nodes.push_back(placement::testing::healthy_node("n" + std::to_string(i)));
  std::deque<std::size_t> running;
  const auto trainer =
      Trainer::make(config, reward, path, placement::make_tabular_trainer(), slot, clock, log, {{}, false});
  REQUIRE(trainer);
  double paid = 0;
  std::size_t alike = 0;
  for (std::size_t i = 0; i < kPlacements; ++i) {
    // Loads of a live cluster: all nodes differ, and CPU and memory are hardly related to the number of pods.
    for (std::size_t k = 0; k < kNodes; ++k) {
      view.nodes[k].values.cpu_used_cores = 0.1 * static_cast<double>(below(150));
      view.nodes[k].values.memory_used_bytes = 1'000'000 * (1 + below(60'000));
      view.nodes[k].requested.cpu_cores = 0.25 * static_cast<double>(view.nodes[k].pods);
    }
    const auto observation =
        placement::observe(view, placement::testing::small_pod(), std::vector<std::string_view>(kNodes), reward);
    std::vector<float> q(kNodes);
    slot.get()->residual(observation, q);
    for (std::size_t k = 0; k < kNodes; ++k) q[k] += observation.prior[k];
    const auto [least, most] = std::minmax_element(q.begin(), q.end());
    const bool tie = *least == *most;
    const std::size_t chosen = tie || below(20) == 0 ? below(kNodes) : static_cast<std::size_t>(most - q.begin());
    (*trainer)->post(PlacedNews{i + 1, observation, static_cast<std::uint32_t>(chosen), clock.mono()});
    std::vector<placement::WorkerBefore> workers;
    for (const auto& node : view.nodes) workers.push_back({node.pods, 0, 0, 0, 0});
    placement::RawOutcome outcome;
    outcome.before = placement::summed(workers, chosen);
    if (i >= kPlacements - kLast) {
      paid += placement::evaluate(reward, outcome).value / static_cast<double>(kLast);
      alike += tie ? 1 : 0;
    }
    (*trainer)->post(SettledNews{i + 1, outcome});
    ++view.nodes[chosen].pods;
    running.push_back(chosen);
    if (running.size() > 30) {
      --view.nodes[running.front()].pods;
      running.pop_front();
    }
    clock.advance(std::chrono::milliseconds(500));
    (*trainer)->turn();
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  return {paid, static_cast<double>(alike) / static_cast<double>(kLast)};
}

}  // namespace

TEST_CASE("with the default configuration a table learns live, under lb, which nodes have the fewest pods") {
  double paid = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    const TableLived lived = live_with_table(seed);
    CAPTURE(seed);
    CHECK(lived.paid > 8);
    CHECK(lived.alike_ratio < 0.05);
    paid += lived.paid / 5;
  }
  MESSAGE("reward of the last placements " << paid << ", random nodes 1.5, the fewest pods 10");
}

TEST_CASE("a network that is finite and bounded on recent decisions may serve") {
  const auto frozen = freeze_checked(CountingNetwork(), 10, one_observation());
  REQUIRE(frozen);
  CHECK((*frozen)->step() == 0);
}

TEST_CASE("a network with too large or non-finite output does not serve") {
  const auto loud = freeze_checked(CountingNetwork(50), 10, one_observation());
  REQUIRE(!loud);
  CHECK(loud.error().code == Errc::out_of_range);
  CHECK(!freeze_checked(CountingNetwork(std::numeric_limits<float>::quiet_NaN()), 10, one_observation()));
}

TEST_CASE("a trainer without a thread learns in turns, one step for each period of the clock") {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-turns-XXXXXX").string();
  REQUIRE(mkdtemp(path.data()) != nullptr);
  ManualClock clock;
  const Log log = Log::silent();
  ServingModel slot;
  LearnConfig config;
  config.warmup = 1;
  config.n_step = 1;
  config.batch = 2;
  config.steps_per_s = 50;
  {
    const auto trainer = Trainer::make(config, {}, path, std::make_unique<CountingNetwork>(), slot, clock, log);
    REQUIRE(trainer);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      (*trainer)->post(PlacedNews{id, one_observation().front(), 0, clock.mono()});
      (*trainer)->post(SettledNews{id, {}});
      clock.advance(std::chrono::seconds(1));
    }
    CHECK((*trainer)->figures().replay == 0);  // nothing happens between turns
    (*trainer)->turn();
    CHECK((*trainer)->figures().replay > 0);
    CHECK((*trainer)->figures().steps == 1);
    (*trainer)->turn();
    CHECK((*trainer)->figures().steps == 1);
    for (int i = 0; i < 10; ++i) {
      clock.advance(std::chrono::milliseconds(20));
      (*trainer)->turn();
    }
    CHECK((*trainer)->figures().steps == 11);
    // Then the outcomes have been used often enough, until more arrive.
    for (int i = 0; i < 100; ++i) {
      clock.advance(std::chrono::seconds(1));
      (*trainer)->turn();
    }
    CHECK((*trainer)->figures().steps == 48);
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

TEST_CASE("after a restart, new outcomes are used as often as earlier ones were") {
  ReplayBudget budget;
  budget.settle(1000);  // as in a checkpoint, whatever its number of steps
  CHECK(budget.empty());
  budget.settle(1002);
  std::uint64_t drawn = 0;
  for (; !budget.empty(); drawn += 16) budget.drawn(16);
  CHECK(drawn == 2 * ReplayBudget::kRatio);
  budget.settle(0);  // a restarted learner
  CHECK(budget.empty());
  budget.settle(1);
  CHECK_FALSE(budget.empty());
}

TEST_CASE("outcomes that arrive faster than steps do not accumulate without limit: each is used fewer times") {
  ReplayBudget budget;
  budget.settle(0);
  budget.settle(1'000'000);
  std::uint64_t drawn = 0;
  for (; !budget.empty(); drawn += 64) budget.drawn(64);
  CHECK(drawn == ReplayBudget::kMost);
}
