// reward: every formula compared with numbers computed by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "placement/decide/decide.hpp"
#include "placement/worth/outcome.hpp"
#include "placement/worth/reward.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

RawOutcome pods(std::initializer_list<std::uint64_t> counts, std::uint32_t chosen) {
  std::vector<WorkerBefore> workers;
  for (const std::uint64_t count : counts) {
    WorkerBefore worker;
    worker.pods = count;
    worker.tcp_established = 10 * count;
    worker.cpu_ratio = 1.0 / (1.0 + static_cast<double>(count));
    workers.push_back(worker);
  }
  RawOutcome outcome;
  outcome.before = summed(workers, chosen);
  return outcome;
}

Reward judge(Preset preset, const RawOutcome& outcome, LoadKind load = LoadKind::pods) {
  RewardConfig config;
  config.preset = preset;
  config.load = load;
  return evaluate(config, outcome);
}

TEST_CASE("ee rewards unused workers if the node is a most loaded one, otherwise the episode ends") {
  CHECK(judge(Preset::ee, pods({3, 0, 0}, 0)).value == 6);  // int(2/3*10)
  CHECK_FALSE(judge(Preset::ee, pods({3, 0, 0}, 0)).end_of_episode);
  CHECK(judge(Preset::ee, pods({3, 0, 0}, 1)).value == 0);
  CHECK(judge(Preset::ee, pods({3, 0, 0}, 1)).end_of_episode);
  CHECK(judge(Preset::ee, pods({3, 3, 0}, 1)).value == 3);  // ties count as best
  CHECK(judge(Preset::ee, pods({0}, 0)).value == 10);
  CHECK(judge(Preset::ee, pods({0, 9}, 0), LoadKind::cpu).value == 5);  // cpu: worker 0 is the most loaded
}

TEST_CASE("lb gives 10, 0, or -1 with an end; best takes precedence over worst in a tie") {
  CHECK(judge(Preset::lb, pods({1, 2, 3}, 0)).value == 10);
  CHECK(judge(Preset::lb, pods({1, 2, 3}, 1)).value == 0);
  CHECK_FALSE(judge(Preset::lb, pods({1, 2, 3}, 1)).end_of_episode);
  CHECK(judge(Preset::lb, pods({1, 2, 3}, 2)).value == -1);
  CHECK(judge(Preset::lb, pods({1, 2, 3}, 2)).end_of_episode);
  CHECK(judge(Preset::lb, pods({2, 2}, 1)).value == 10);
  CHECK(judge(Preset::lb, pods({5}, 0)).value == 10);
  CHECK(judge(Preset::lb, pods({1, 2, 3}, 2), LoadKind::cpu).value == 10);
}

TEST_CASE("lc judges established connections") {
  CHECK(judge(Preset::lc, pods({1, 2, 3}, 0)).value == 10);
  CHECK(judge(Preset::lc, pods({1, 2, 3}, 2)).value == -1);
}

TEST_CASE("el-rl adds the share of switched-off nodes, density and latency, with exact boundaries") {
  RawOutcome outcome = pods({10, 0, 0}, 0);
  outcome.latency_soft_ms = 20;
  outcome.latency_hard_ms = 30;
  const double base = 3.0 / 4 + 10.0 / 50;
  outcome.latency_ms = 20;
  CHECK(judge(Preset::el_rl, outcome).value == doctest::Approx(base + 1));
  outcome.latency_ms = 20.1;
  CHECK(judge(Preset::el_rl, outcome).value == doctest::Approx(base + 0.5));
  outcome.latency_ms = 30;
  CHECK(judge(Preset::el_rl, outcome).value == doctest::Approx(base + 0.5));
  CHECK_FALSE(judge(Preset::el_rl, outcome).end_of_episode);
  outcome.latency_ms = 30.1;
  CHECK(judge(Preset::el_rl, outcome).value == doctest::Approx(base));
  CHECK(judge(Preset::el_rl, outcome).end_of_episode);
  outcome.latency_ms = 1;
  outcome.latency_soft_ms.reset();
  CHECK(judge(Preset::el_rl, outcome).end_of_episode);
  CHECK(judge(Preset::el_rl, pods({0, 0}, 0)).value == doctest::Approx(1));  // on = 0: density is 0
}

TEST_CASE("an outcome is judged by the limits that the decision used") {
  ClusterView view;
  view.nodes = {testing::healthy_node("n0")};
  view.nodes[0].latency_ms["default"] = 150;
  PodSpec pod = testing::small_pod();
  pod.latency_soft_ms = 200;  // above the hard limit: ignored
  pod.latency_hard_ms = 100;
  RewardConfig config;
  config.preset = Preset::el_rl;
  const RawOutcome outcome = begin_outcome(view, pod, 0, config);
  CHECK_FALSE(outcome.latency_soft_ms);
  CHECK(evaluate(config, outcome).terms.at("latency") == 0);
  CHECK(evaluate(config, outcome).end_of_episode);
}

TEST_CASE("drs is minus the sum of six population deviations") {
  RawOutcome outcome = pods({1, 1}, 0);
  std::vector<WorkerAfter> after(2);
  after[0].cpu_pct = 10;
  after[1].cpu_pct = 30;        // sd 10
  after[1].disk_write_pct = 8;  // sd 4
  outcome.deviations_pct = deviations_pct(after);
  CHECK(judge(Preset::drs, outcome).value == doctest::Approx(-14));
  RewardConfig balance;
  balance.weights = {0, 0, 2, 0, 0, 0, 0};
  CHECK(evaluate(balance, outcome).value == doctest::Approx(-0.28));
  after.resize(1);
  CHECK(deviations_pct(after) == 0);
  CHECK(deviations_pct({}) == 0);
}

TEST_CASE("drs settles for five seconds and ends an episode after each hundredth placement; other presets do not") {
  CHECK(times_of(Preset::drs).settle_s == std::optional(5.0));
  CHECK(times_of(Preset::drs).episode == 100);
  RawOutcome outcome = pods({1, 1}, 0);
  outcome.latency_ms = outcome.latency_soft_ms = outcome.latency_hard_ms = 1;
  for (const std::uint64_t before : {0U, 98U, 99U, 100U, 198U, 199U}) {
    outcome.placement = before;
    CHECK(judge(Preset::drs, outcome).end_of_episode == (before % 100 == 99));
    for (const Preset other : {Preset::ee, Preset::lb, Preset::el_rl, Preset::weighted})
      CHECK_FALSE(judge(other, outcome).end_of_episode);
  }
  CHECK_FALSE(times_of(Preset::weighted).settle_s);
}

TEST_CASE("power is minus watts, with the original values for infeasible and full") {
  RawOutcome outcome = pods({1, 1}, 0);
  outcome.mean_power_w = 130;
  CHECK(judge(Preset::power, outcome).value == -130);
  outcome.all_full = true;
  CHECK(judge(Preset::power, outcome).value == 10'000);
  outcome.was_infeasible = true;
  CHECK(judge(Preset::power, outcome).value == -10'000);
  CHECK(judge(Preset::power, outcome).end_of_episode);
}

TEST_CASE("weighted sums its terms, each with its own weight") {
  RawOutcome outcome = pods({4, 0}, 1);
  outcome.expected_marginal_w = 15;
  outcome.marginal_w = 5;
  outcome.expected_life_s = 1800;
  outcome.latency_ms = 25;
  outcome.latency_soft_ms = 20;
  outcome.latency_hard_ms = 30;
  outcome.cpu_some_ratio = 0.2;
  RewardConfig config;
  config.weights = {2, 3, 0, 1, 4, 0.5, 1};
  const Reward reward = evaluate(config, outcome);
  CHECK(reward.terms.at("energy") == doctest::Approx(2 * 10 * 0.5 / 20));
  CHECK(reward.terms.at("latency") == doctest::Approx(3 * 0.5));
  CHECK(reward.terms.at("active_nodes") == doctest::Approx(-1));           // both on afterwards
  CHECK(reward.terms.at("packing") == doctest::Approx(4 * 5.0 / 2 / 50));  // 5 pods on 2 nodes
  CHECK(reward.terms.at("contention") == doctest::Approx(-0.1));
  double sum = 0;
  for (const auto& [name, value] : reward.terms) sum += value;
  CHECK(reward.value == doctest::Approx(sum));
  outcome.failed = true;
  CHECK(evaluate(config, outcome).value == doctest::Approx(reward.value - 1));
  CHECK(evaluate(config, outcome).end_of_episode);
}

TEST_CASE("the latency term has exact boundaries and a defined value if latency is missing") {
  CHECK(latency_term(20, 20, 30) == 1);
  CHECK(latency_term(30, 20, 30) == 0);
  CHECK(latency_term(30.01, 20, 30) == -1);
  CHECK(latency_term(25, 20, 30) == doctest::Approx(0.5));
  CHECK(latency_term(30, std::nullopt, 30) == 1);
  CHECK(latency_term(30, 20, std::nullopt) == doctest::Approx(0.5));
  CHECK(latency_term(90, 20, std::nullopt) == 0);
  CHECK(latency_term(50, std::nullopt, std::nullopt) == doctest::Approx(0.5));
  CHECK(latency_term(std::nullopt, 20, 30) == -1);
  CHECK(latency_term(std::nullopt, 20, std::nullopt) == 0);
}

TEST_CASE("the energy of an average placement has the value zero") {
  ClusterView view;
  for (const char* name : {"a", "b", "c"}) view.nodes.push_back(testing::healthy_node(name));
  RewardConfig config;
  RawOutcome outcome = begin_outcome(view, testing::small_pod(), 1, config);
  outcome.marginal_w = outcome.expected_marginal_w;
  CHECK(evaluate(config, outcome).terms.at("energy") == 0);
  CHECK(outcome.before.workers == 3);
  CHECK_FALSE(outcome.was_infeasible);
  CHECK(predict(config, view, std::vector<std::size_t>{0, 1, 2}, testing::small_pod(), 0.1)[0].value() ==
        doctest::Approx(0));
}

TEST_CASE("preset names survive a round trip, and unknown ones are refused with the list") {
  for (const Preset preset :
       {Preset::ee, Preset::lb, Preset::lc, Preset::el_rl, Preset::drs, Preset::power, Preset::weighted})
    CHECK(parse_preset(to_string(preset)).value() == preset);
  CHECK(parse_preset("green").error().message().find("el-rl") != std::string::npos);
  CHECK(parse_load_kind("disk").value() == LoadKind::disk);
  CHECK_FALSE(parse_load_kind("gpu").has_value());
}

}  // namespace
}  // namespace wattle::placement
