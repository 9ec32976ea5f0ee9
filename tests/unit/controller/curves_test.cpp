// Training curves.
#include "controller/trainer/curves.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace wattle;
using namespace wattle::controller;

namespace {

std::map<std::string, double> taken(Curves& curves) {
  std::map<std::string, double> values;
  for (const auto& [tag, value] : curves.take()) values.emplace(tag, value);
  return values;
}

placement::Reward reward(double value, bool ends = false) { return {value, ends, {{"energy", value / 2}}}; }

}  // namespace

TEST_CASE("rewards, their terms and steps are means since the last point") {
  Curves curves("unused");
  curves.add(reward(1));
  curves.add(reward(3));
  curves.add(models::StepStats{0.5, -1, 2, 10, 1});
  curves.add(models::StepStats{1.5, -3, 7, 20, 2});
  curves.add(models::StepStats{1.0, -2, 4, 30, 3});
  const auto values = taken(curves);
  CHECK(values.at("reward/mean") == 2);
  CHECK(values.at("reward/energy") == 1);
  CHECK(values.at("train/td_loss") == 1);
  CHECK(values.at("train/q_mean") == -2);
  CHECK(values.at("train/q_max_abs") == 7);
  CHECK(values.at("train/grad_norm") == 20);
  CHECK(values.count("episode/return") == 0);
  CHECK(curves.take().empty());
}

TEST_CASE("an episode ends with a failed placement or after a hundred placements") {
  Curves curves("unused");
  curves.add(reward(2));
  curves.add(reward(-1, true));
  auto values = taken(curves);
  CHECK(values.at("episode/return") == 1);
  CHECK(values.at("episode/length") == 2);
  for (std::uint64_t i = 0; i < Curves::kEpisode; ++i) curves.add(reward(0.5));
  values = taken(curves);
  CHECK(values.at("episode/return") == doctest::Approx(50));
  CHECK(values.at("episode/length") == 100);
}

TEST_CASE("each episode has one reward") {
  Curves curves("unused");
  curves.add(reward(100));
  curves.add(models::StepStats{0.5, -1, 2, 10, 1});
  curves.begin_reward();
  curves.add(reward(2, true));
  const auto values = taken(curves);
  CHECK(values.at("reward/mean") == 2);
  CHECK(values.at("reward/energy") == 1);
  CHECK(values.at("episode/return") == 2);
  CHECK(values.at("episode/length") == 1);
  CHECK(values.at("train/td_loss") == 0.5);
}

TEST_CASE("without new outcomes no point is written") {
  Curves curves("/proc/cannot/be/made");
  CHECK(curves.flush(1, {}, {{"train/epsilon", 0.1}}));
  curves.add(reward(1));
  CHECK_FALSE(curves.flush(1, {}, {}));
}
