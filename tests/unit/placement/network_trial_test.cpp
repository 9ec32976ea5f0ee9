// network_trial: a network that is behind is withdrawn, and one that is not hardly ever is.
#include "common/stats/network_trial.hpp"

#include <doctest/doctest.h>
#include <cmath>
#include <random>

namespace wattle {
namespace {

// Blocks until the verdict changes, at most `most`.
template <class Draw>
std::uint64_t blocks_until(stats::NetworkTrial& test, std::uint64_t most, Draw&& draw) {
  for (std::uint64_t block = 1; block <= most; ++block)
    if (test.add(draw())) return block;
  return most + 1;
}

TEST_CASE("false alarms: of a thousand equal networks, hardly any is withdrawn within a tenth of the stated run") {
  // Ville's inequality: the chance of an alarm within n blocks is at most n / run_blocks, for any distribution.
  struct Shape {
    const char* name;
    double up, chance;  // `up` with that chance, otherwise the value that makes the mean 0
  };
  for (const Shape& shape : {Shape{"even", 1.0, 0.5}, Shape{"mostly a little ahead", 1.0, 0.1},
                             Shape{"mostly a little behind", 0.1, 0.9}, Shape{"small", 0.02, 0.5}}) {
    std::mt19937_64 random(7);
    int alarms = 0;
    for (int run = 0; run < 1000; ++run) {
      stats::NetworkTrial test;
      const double down = -shape.up * shape.chance / (1 - shape.chance);
      const auto draw = [&] {
        return std::uniform_real_distribution<double>(0, 1)(random) < shape.chance ? shape.up : down;
      };
      const auto tenth = static_cast<std::uint64_t>(test.options().run_blocks / 10);
      if (blocks_until(test, tenth, draw) <= tenth) ++alarms;
    }
    CHECK_MESSAGE(alarms <= 130, shape.name);  // at most 100 expected, plus three standard deviations
  }
}

TEST_CASE("correlation over fifteen blocks, equal in the long run, withdraws a network in few runs of 3000 decisions") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.05);
  const double kept = std::exp(-1.0 / 15);
  int alarms = 0;
  for (int run = 0; run < 400; ++run) {
    stats::NetworkTrial test;
    double figure = 0;
    const auto draw = [&] { return figure = kept * figure + std::sqrt(1 - kept * kept) * noise(random); };
    if (blocks_until(test, 300, draw) <= 300) ++alarms;
  }
  CHECK(alarms <= 20);
}

TEST_CASE("a network that costs a tenth more is withdrawn, returns when it is better, and does not return by noise") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.2);
  stats::NetworkTrial test;
  REQUIRE(blocks_until(test, 2000, [&] { return 0.1 + noise(random); }) <= 2000);
  CHECK_FALSE(test.in_use());
  CHECK(test.evidence() == 0);
  CHECK(blocks_until(test, 500, [&] { return 0.1 + noise(random); }) > 500);  // still behind
  CHECK(blocks_until(test, 2000, [&] { return -0.2 + noise(random); }) <= 2000);
  CHECK(test.in_use());
  CHECK(test.changes() == 2);
}

TEST_CASE("a network that starts withdrawn enters use once it is shown to be ahead, and not by being equal") {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(0, 0.2);
  stats::NetworkTrial test({.begins_gated = true});
  CHECK_FALSE(test.in_use());
  CHECK(test.limit() == doctest::Approx(std::log(200)));
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(test.add(0));
  CHECK_FALSE(test.in_use());
  REQUIRE(blocks_until(test, 2000, [&] { return -0.1 + noise(random); }) <= 2000);
  CHECK(test.in_use());
  test.restart();
  CHECK_FALSE(test.in_use());
  CHECK(test.changes() == 0);
}

TEST_CASE("a restart is possible after any block: every saved state can be restored") {
  std::mt19937_64 random(6);
  std::normal_distribution<double> noise(-0.05, 0.2);
  stats::NetworkTrial test, again;
  for (int i = 0; i < 500; ++i) {
    test.add(noise(random));
    REQUIRE(test.evidence() >= 0);
    REQUIRE(again.restore(test.saved()));
  }
}

TEST_CASE("an invalid number does not count, and a reset clears all state") {
  stats::NetworkTrial test;
  CHECK_FALSE(test.add(std::nan("")));
  CHECK(test.blocks() == 0);
  while (!test.add(1)) {
  }
  CHECK_FALSE(test.in_use());
  test.restart();
  CHECK(test.in_use());
  CHECK(test.mean() == 0);
}

}  // namespace
}  // namespace wattle
