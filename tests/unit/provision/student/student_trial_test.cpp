// student_trial: what good students may do for a week, and how soon bad ones are put out.
#include "provision/student/student_trial.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>

using wattle::actuator::student_trial;
using wattle::actuator::throttled_difference;

namespace {

constexpr double kMost = 0.1;
constexpr int kWeek = 7 * 24 * 60;
using Random = std::mt19937_64;

double uniform(Random& random) { return std::generate_canonical<double, 53>(random); }

// The minute in which the student was put out.
std::optional<int> out_after(const std::function<double(Random&, int)>& share, std::uint64_t seed, int minutes) {
  wattle::stats::NetworkTrial trial = student_trial(kMost);
  Random random(seed);
  for (int minute = 0; minute < minutes; ++minute)
    if (trial.add(throttled_difference(share(random, minute), kMost))) return minute + 1;
  return std::nullopt;
}

// The number of a hundred runs that ended within `minutes`.
int outs(const std::function<double(Random&, int)>& share, int minutes) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) count += out_after(share, seed, minutes).has_value();
  return count;
}

}  // namespace

TEST_CASE("a student within the bound on average stays for a week in 99 of 100 runs, for any spread of minutes") {
  const auto all_or_nothing = [](Random& random, int) { return uniform(random) < kMost ? 1.0 : 0.0; };
  const auto uniform_to_twice = [](Random& random, int) { return 2 * kMost * uniform(random); };
  const auto half_of_an_hour = [](Random& random, int) { return uniform(random) < 0.5 ? 2 * kMost : 0.0; };
  const auto always = [](Random&, int) { return kMost; };
  // Good by day and bad by night, but each minute is at the bound on average given the past.
  const auto by_hour = [](Random& random, int minute) {
    const double size = (minute / 60) % 2 == 0 ? 0.2 : 0.8;
    return uniform(random) < kMost / size ? size : 0.0;
  };
  for (const auto& share : {std::function<double(Random&, int)>(all_or_nothing),
                            {uniform_to_twice},
                            {half_of_an_hour},
                            {always},
                            {by_hour}})
    CHECK(outs(share, kWeek) <= 1);
}

TEST_CASE("a student with three times the permitted throttling is put out within four hours in 99 of 100 runs") {
  const auto always = [](Random&, int) { return 3 * kMost; };
  const auto drawn = [](Random& random, int) { return 6 * kMost * uniform(random); };
  const auto all_or_nothing = [](Random& random, int) { return uniform(random) < 3 * kMost ? 1.0 : 0.0; };
  for (const auto& share : {std::function<double(Random&, int)>(always), {drawn}, {all_or_nothing}})
    CHECK(outs(share, 240) >= 99);
  CHECK(*out_after(always, 1, 180) <= 40);
  CHECK(*out_after([](Random&, int) { return 1.0; }, 1, 180) <= 15);
}

TEST_CASE("a student that turns bad after a good week is put out as soon") {
  const auto turned = [](Random& random, int minute) { return (minute < kWeek ? 0.5 : 6) * kMost * uniform(random); };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto out = out_after(turned, seed, kWeek + 180);
    REQUIRE(out);
    CHECK(*out > kWeek);
  }
}

TEST_CASE("a share that is not a number does not count, and the mean is of the last hour") {
  wattle::stats::NetworkTrial trial = student_trial(kMost);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_FALSE(trial.add(throttled_difference(bad, kMost)));
  CHECK(trial.blocks() == 0);
  CHECK(trial.state() == wattle::stats::NetworkState::in_use);
  while (!trial.add(throttled_difference(1, kMost))) continue;
  CHECK(trial.state() == wattle::stats::NetworkState::withdrawn);
  CHECK(kMost + trial.mean() * wattle::actuator::throttled_unit(kMost) > 0.9);
  wattle::stats::NetworkTrial lenient = student_trial(1);
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(lenient.add(throttled_difference(1, 1)));
}
