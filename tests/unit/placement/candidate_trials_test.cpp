// candidate_trials: measured blocks decide, and a bad network costs little even if every prediction recommends it.
#include "placement/judge/candidate_trials.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "common/stats/draws.hpp"
#include "placement/decide/decision_engine.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

constexpr int kStep_s = 10, kBlock_s = 300, kDayBlocks = 48;
const TrialOptions kTrials{
    .on = true, .length = std::chrono::seconds(kBlock_s), .day = std::chrono::seconds(kDayBlocks * kBlock_s)};

// Prefers the nodes with the highest (times > 0) or lowest marginal watts.
struct ByWatts final : models::QNetwork {
  explicit ByWatts(float given) : times(given) {}
  void residual(const models::Observation& seen, std::span<float> out) const override {
    for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = times * seen.node[i * models::kNodeFeatures + 17];
  }
  std::uint64_t step() const override { return 5; }
  float times;
};

struct Living {
  PodSpec pod;
  std::size_t row = 0;
  int ends = 0;
};

// A cluster of six nodes, three of which draw three times the watts. Pods start and end; a day has 48 short blocks.
class TriedCluster {
 public:
  enum class Kind { tried, floor, untried };
  TriedCluster(std::uint64_t seed, Kind kind) : pods_(seed), noise_(seed + 1000), ties_(seed) {
    EngineOptions options;
    options.trials = kTrials;
    options.trials.on = kind != TriedCluster::Kind::untried;
    if (kind == TriedCluster::Kind::floor) options.trials.length = std::chrono::hours(10'000);  // no trial starts
    options.trials.seed = seed;
    engine_.emplace(options);
    engine_->cluster_model().pod_time().set_acting(true);
    engine_->set_acting_for_trials(true);
    view_.now += std::chrono::hours(1);
    for (int i = 0; i < 6; ++i) {
      NodeView node = testing::healthy_node("n" + std::to_string(i), 8);
      const double dear = i % 2 == 0 ? 3 : 1;
      for (int k = 0; k < 100; ++k) node.curve.observe(0.05 * (k % 20), dear * (40 + 60 * 0.05 * (k % 20)));
      view_.nodes.push_back(node);
    }
    names_ = testing::names_of(view_);
  }

  // Runs one block and returns its energy.
  double live_block(const models::QNetwork* network) {
    const double of_block = 1 + 0.01 * (stats::uniform(noise_, -1, 1));
    double energy_j = 0;
    for (int at = 0; at < kBlock_s; at += kStep_s) {
      step(network);
      for (NodeView& node : view_.nodes) {
        const double dear = (&node - view_.nodes.data()) % 2 == 0 ? 3 : 1;
        const double watts = dear * (40 + 60 * used(node) / 8);
        energy_j += watts * kStep_s;
        node.power_w = watts * of_block;
        node.values.cpu_used_cores = used(node);
      }
    }
    return energy_j;
  }
  DecisionEngine& engine() { return *engine_; }

 private:
  static double used(const NodeView& node) { return 0.5 * node.requested.cpu_cores; }
  void step(const models::QNetwork* network) {
    view_.now += std::chrono::seconds(kStep_s);
    ++step_;
    for (const Living& each : running_) {
      if (each.ends > step_) continue;
      view_.nodes[each.row].requested.cpu_cores -= each.pod.request.cpu_cores;
      --view_.nodes[each.row].pods;
      engine_->on_pod_ended(each.pod.uid, &each.pod, each.row, view_.now);
    }
    std::erase_if(running_, [this](const Living& each) { return each.ends <= step_; });
    engine_->refresh(view_);
    engine_->trials().offer(Candidate::baseline, network != nullptr);  // as if every prediction recommends it
    PodSpec pod = testing::small_pod();
    pod.uid = "pod-" + std::to_string(step_);
    pod.app = "app";
    pod.request.cpu_cores = 1;
    const int life = 3 + static_cast<int>(pods_() % 8);
    const PodSpec expected = engine_->expected(pod);
    const PlacementDecision made = engine_->decide({.view = view_,
                                                    .pod = expected,
                                                    .candidates = names_,
                                                    .network = network,
                                                    .turn = static_cast<std::uint64_t>(step_),
                                                    .random = ties_});
    if (!made.top) return;
    const std::size_t row = *made.top;
    view_.nodes[row].requested.cpu_cores += 1;
    ++view_.nodes[row].pods;
    const std::vector<PodReading> readings{{engine_->on_pod_started(pod, names_[row], row, view_.now), 0.5}};
    engine_->on_usage(readings, kStep_s);
    running_.push_back({pod, row, step_ + life});
  }

  std::mt19937_64 pods_, noise_, ties_;
  std::optional<DecisionEngine> engine_;
  ClusterView view_;
  std::vector<std::string> names_;
  std::vector<Living> running_;
  int step_ = 0;
};

TEST_CASE("ablation of measured blocks: a network that prefers costly nodes costs at most 0.5% of a day" *
          doctest::test_suite("statistical")) {
  double worst = 0, without_trials = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    // The second network has learned a reward of the wrong sign, so that it prefers costly nodes even more.
    for (const float times : {20.0F, 1000.0F}) {
      const ByWatts network(times);
      TriedCluster tried(seed, TriedCluster::Kind::tried), floor(seed, TriedCluster::Kind::floor),
          served(seed, TriedCluster::Kind::untried);
      std::vector<double> more, usual;
      double served_j = 0, floor_j = 0;
      for (int block = 0; block < 3 * kDayBlocks; ++block) {
        usual.push_back(floor.live_block(nullptr));
        more.push_back(tried.live_block(&network) - usual.back());
        if (block >= kDayBlocks) continue;
        served_j += served.live_block(&network);
        floor_j += usual.back();
      }
      without_trials += (served_j / floor_j - 1) / 20;
      for (std::size_t first = 0; first + kDayBlocks <= more.size(); ++first) {
        double lost = 0, all = 0;
        for (std::size_t i = first; i < first + kDayBlocks; ++i) {
          lost += more[i];
          all += usual[i];
        }
        worst = std::max(worst, lost / all);
      }
      CHECK(tried.engine().trials().in_use() != Candidate::baseline);
    }
  }
  MESSAGE("worst day " << 100 * worst << "%; without trials " << 100 * without_trials << "% on average");
  CHECK(worst <= 0.005);
  CHECK(without_trials > 0.05);
}

TEST_CASE("without trials, or while decisions do not act, no candidate replaces the policy") {
  TriedCluster cluster(1, TriedCluster::Kind::untried);
  CHECK_FALSE(cluster.engine().trials().active());
  TriedCluster tried(1, TriedCluster::Kind::tried);
  CHECK(tried.engine().trials().active());
  CHECK(tried.engine().gated());
  CHECK(tried.engine().gated_why().find("no other candidate has been measured") != std::string::npos);
  tried.engine().set_acting_for_trials(false);
  CHECK_FALSE(tried.engine().trials().active());
  RewardConfig balance;
  balance.weights.energy = 0;
  tried.engine().set_acting_for_trials(true);
  CHECK(tried.engine().set_policy("dqn", balance).value());
  CHECK_FALSE(tried.engine().trials().active());
}

struct TriedCosts {
  std::array<double, 4> waits{}, more{};  // by the candidate that placed a pod: share of time; energy above the floor's
};
struct TriedDays {
  Candidate in_use = Candidate::floor;
  bool floor_rests = false;
  double worst_day = 0;
};

// Waiting and energy of pods depend on the candidate that placed them. The waiting limit is 1%.
TriedDays try_for(const TriedCosts& costs, std::size_t days, std::uint64_t seed, std::vector<Candidate> offered) {
  stats::Random random(seed);
  TrialOptions options = kTrials;
  options.seed = seed;
  CandidateTrials trials(options);
  trials.set_active(true);
  for (const Candidate each : offered) trials.offer(each, true);
  ClusterView view;
  view.nodes.push_back(testing::healthy_node("n", 64));
  view.nodes[0].values.cpu_used_cores = 10;
  struct Pod {
    std::uint64_t key = 0;
    std::size_t by = 0;
    double ends_s = 0;
  };
  std::vector<Pod> running;
  std::vector<double> lost;
  std::uint64_t next = 0;
  TriedDays lived;
  double of_day = 0, of_block = 1;
  for (int step = 0; step < static_cast<int>(days) * kDayBlocks * kBlock_s / kStep_s; ++step) {
    const double at_s = step * kStep_s;
    double waits = 0, more = 0;
    for (const Pod& each : running) {
      waits += costs.waits[each.by] / static_cast<double>(running.size());
      more += costs.more[each.by] / static_cast<double>(running.size());
    }
    if (step % (kBlock_s / kStep_s) == 0) of_block = 1 + 0.02 * stats::uniform(random, -1, 1);
    view.now += std::chrono::seconds(kStep_s);
    view.nodes[0].power_w = 100 * (1 + more) * of_block;
    lost.push_back(more * kStep_s / (kDayBlocks * kBlock_s));
    of_day += lost.back();
    const auto day_steps = static_cast<std::size_t>(kDayBlocks * kBlock_s / kStep_s);
    if (lost.size() > day_steps) of_day -= lost[lost.size() - 1 - day_steps];
    lived.worst_day = std::max(lived.worst_day, of_day);
    trials.watch(view, {waits, 0.01});
    std::erase_if(running, [&](const Pod& each) {
      if (each.ends_s > at_s) return false;
      trials.on_pod_ended(each.key);
      return true;
    });
    while (running.size() < 20) {
      trials.on_pod_started(next, 1);
      running.push_back({next++, static_cast<std::size_t>(trials.serves()), at_s + stats::uniform(random, 10, 60)});
    }
  }
  lived.in_use = trials.in_use();
  lived.floor_rests = trials.state(Candidate::floor) == stats::NetworkState::withdrawn;
  return lived;
}

TEST_CASE("a candidate within the waiting limit replaces a floor with longer waits, whatever the saving") {
  int replaced = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TriedDays lived = try_for({{0.05, 0.005, 0.05, 0.05}, {0, 0.03, -0.1, 0.01}}, 20, seed,
                                    {Candidate::planner, Candidate::baseline, Candidate::learned});
    replaced += lived.in_use == Candidate::planner ? 1 : 0;
    CHECK((lived.floor_rests || lived.in_use != Candidate::planner));
  }
  MESSAGE("replaced in " << replaced << " of 10 clusters");
  CHECK(replaced >= 8);
}

TEST_CASE("a costly candidate does not replace a floor within the limit, or one that waits no longer") {
  double kept_worst = 0, broken_worst = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TriedDays kept = try_for({{0.01, 0.001, 0.001, 0.001}, {0, 0.02, 0.05, 0.5}}, 10, seed,
                                   {Candidate::planner, Candidate::learned});
    CHECK(kept.in_use == Candidate::floor);
    CHECK_FALSE(kept.floor_rests);
    const TriedDays broken = try_for({{0.05, 0.05, 0.045, 0.05}, {0, 0.02, 0.05, 0.5}}, 10, seed,
                                     {Candidate::planner, Candidate::baseline, Candidate::learned});
    CHECK(broken.in_use == Candidate::floor);
    kept_worst += kept.worst_day / 10;
    broken_worst += broken.worst_day / 10;
  }
  MESSAGE("worst day " << 100 * kept_worst << "%; where all break the limit " << 100 * broken_worst << "%");
  CHECK(kept_worst <= 0.005);
  CHECK(broken_worst <= 0.005);
}

TEST_CASE("a cheaper candidate is not used if its pods wait over the limit and longer than the floor's") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    CHECK(try_for({{0.005, 0, 0.03, 0}, {0, 0, -0.1, 0}}, 10, seed, {Candidate::baseline}).in_use == Candidate::floor);
}

// Returns the block length after some blocks on a node whose pods have this mean lifetime.
Duration block_with(double mean_life_s, std::uint64_t seed) {
  stats::Random random(seed);
  CandidateTrials trials({.on = true, .length = std::chrono::minutes(30), .day = std::chrono::hours(24)});
  trials.set_active(true);
  ClusterView view;
  view.nodes.push_back(testing::healthy_node("n", 64));
  view.nodes[0].power_w = 100;
  view.nodes[0].values.cpu_used_cores = 10;
  std::vector<std::pair<std::uint64_t, double>> running;
  std::uint64_t next = 0;
  for (double at_s = 0; at_s < 2 * 86'400; at_s += 10) {
    view.now += std::chrono::seconds(10);
    trials.watch(view, {});
    std::erase_if(running, [&](const auto& each) {
      if (each.second > at_s) return false;
      trials.on_pod_ended(each.first);
      return true;
    });
    while (running.size() < 100) {
      trials.on_pod_started(next, 1);
      running.emplace_back(next++, at_s - mean_life_s * std::log(1 - stats::uniform(random)));
    }
  }
  return trials.block();
}

TEST_CASE("a block lasts twice the half-life of pods, between half an hour and three hours") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CHECK(seconds(block_with(3600, seed)) == doctest::Approx(2 * 3600 * std::log(2.0)).epsilon(0.25));
    CHECK(block_with(300, seed) == std::chrono::minutes(30));
    CHECK(block_with(1e9, seed) == std::chrono::hours(3));
  }
}

}  // namespace
}  // namespace wattle::placement
