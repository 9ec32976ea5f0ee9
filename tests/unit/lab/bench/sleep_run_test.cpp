// sleep_run: days on which nodes sleep by a rule: the same pods and work, accounted energy, and a clairvoyant lower
// bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lab/bench/sleep_bench.hpp"

namespace wattle::sim::consolidation {
namespace {

SleepEpisodeOptions small() {
  SleepEpisodeOptions options;
  options.nodes = 4;
  options.warm_days = 1;
  options.days = 1;
  return options;
}

const SleepEpisode& episode() {
  static const Dataset kData = synthetic_dataset(3);
  static const SleepEpisode kEpisode = make_sleep_episode(kData, small(), 7);
  return kEpisode;
}

TEST_CASE("an episode has more pods by day than by night, and its bursts come at the same times of each day") {
  std::size_t by_day = 0, by_night = 0;
  for (const Pod& pod : episode().cluster.pods) {
    const double hour = std::fmod(pod.arrives_s / 3600, 24);
    (hour >= 9 && hour < 21 ? by_day : by_night) += 1;
  }
  CHECK(by_day > by_night);
  REQUIRE(episode().bursts.size() == 6);
  for (std::size_t i = 0; i < 6; i += 2) {
    CHECK(std::abs(episode().bursts[i + 1].at_s - episode().bursts[i].at_s - 86'400) < 300);
    CHECK_FALSE(episode().bursts[i].pods.empty());
  }
}

TEST_CASE("every sleeping rule uses less energy than always-on with the same pods, and with hindsight no pod waits") {
  const double always_on_j = run_sleep(episode(), "always-on", placement::sleep::Depth::off)->energy_j;
  const SleepFigures clairvoyant = run_sleep(episode(), "clairvoyant", placement::sleep::Depth::off).value();
  CHECK(clairvoyant.energy_j < always_on_j);
  CHECK(clairvoyant.waits_s.empty());
  for (const char* rule : {"slurm-5", "slurm-60", "dpm", "wattle-no-spare", "wattle-no-drains", "wattle"}) {
    CAPTURE(rule);
    const SleepFigures figures = run_sleep(episode(), rule, placement::sleep::Depth::off).value();
    CHECK(figures.energy_j < always_on_j);
    CHECK(figures.pods == run_sleep(episode(), "always-on", placement::sleep::Depth::off)->pods);
    CHECK(figures.sleeps > 0);
    for (const double wait_s : figures.waits_s) CHECK(wait_s > 0);
  }
}

TEST_CASE("the same pods use more energy spread by kube-scheduler's score, and less if they move for free") {
  const SleepFigures spread = run_sleep(episode(), "kube-default", placement::sleep::Depth::off).value();
  const SleepFigures ordered = run_sleep(episode(), "always-on", placement::sleep::Depth::off).value();
  CHECK(spread.pods == ordered.pods);
  CHECK(spread.energy_j > ordered.energy_j);
  CHECK(spread.sleeps == 0);
  const SleepFigures stays = run_sleep(episode(), "clairvoyant", placement::sleep::Depth::off).value();
  const SleepFigures moves = run_sleep(episode(), "clairvoyant-moves", placement::sleep::Depth::off).value();
  CHECK(moves.pods == stays.pods);
  CHECK(moves.energy_j < stays.energy_j);
  CHECK(moves.waits_s.empty());
}

TEST_CASE("an unknown rule is refused with the known ones") {
  const auto run = run_sleep(episode(), "slurm-7", placement::sleep::Depth::off);
  REQUIRE_FALSE(run);
  CHECK(run.error().message().find("slurm-5") != std::string::npos);
}

TEST_CASE("the table has a row for each rule and no interval from two seeds") {
  SleepBenchOptions options;
  options.episode = small();
  options.nodes = {3};
  options.seeds = 2;
  options.rules = {"always-on", "wattle"};
  const std::string text = sleep_bench(synthetic_dataset(3), options).value();
  CHECK(text.find("| always-on | ") != std::string::npos);
  CHECK(text.find("| wattle | ") != std::string::npos);
  CHECK(text.find("energy over always-on") != std::string::npos);
  CHECK(text.find("energy over clairvoyant") == std::string::npos);
  CHECK(text.find("energy over the best slurm") == std::string::npos);
  CHECK(text.find("needs 5 seeds") != std::string::npos);
  CHECK(text == sleep_bench(synthetic_dataset(3), options).value());
}

TEST_CASE("the best slurm is that of each fleet: no slurm rule uses less, and it equals one of them") {
  SleepBenchOptions options;
  options.episode = small();
  options.nodes = {3};
  options.seeds = 5;
  const auto over_best = [&](std::vector<std::string> rules) {
    options.rules = std::move(rules);
    const std::string text = sleep_bench(synthetic_dataset(3), options).value();
    std::vector<double> means;
    for (const std::string& rule : options.rules) {
      const std::size_t row = text.find("| " + rule + " | ");
      REQUIRE(row != std::string::npos);
      means.push_back(std::stod(text.substr(row + rule.size() + 5)));
    }
    return means;
  };
  CHECK(over_best({"slurm-60"}) == std::vector<double>{0});
  const std::vector<double> both = over_best({"slurm-5", "slurm-60"});
  CHECK(both[0] >= 0);
  CHECK(both[1] >= 0);
  CHECK(std::min(both[0], both[1]) < std::max(both[0], both[1]));
}

}  // namespace
}  // namespace wattle::sim::consolidation
