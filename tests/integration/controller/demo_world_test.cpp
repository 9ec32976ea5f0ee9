// The demo's world in simulated time (demo_world.hpp): a network makes the decisions, and learning continues.
#include <doctest/doctest.h>

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "common/stats/moments.hpp"
#include "tests/integration/controller/demo_world.hpp"
#include "tests/integration/controller/shipped.hpp"

namespace wattle::controller::test {
namespace {

constexpr double kRun_s = 150, kMinute_s = 60;

struct Lived {
  stats::Moments received, first_loss, last_loss;  // rewards after the first minute; losses of the first and last fifth
};

Lived live(std::uint64_t seed) {
  char folder[] = "/tmp/wattle-demo-world.XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  bench::DemoOptions options;
  options.seed = seed;
  options.models_dir = kShipped;
  options.data_dir = folder;
  Lived lived;
  {
    const auto made = bench::DemoWorld::make(options);
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message()));
    bench::DemoWorld& world = **made;
    std::uint64_t steps = 0;
    while (world.now_s() < kRun_s) {
      world.turn();
      for (const bench::Judged& judged : world.take_judged())
        if (judged.at_s >= kMinute_s) lived.received.add(judged.by_network ? 1 : 0);
      const auto learned = world.learned();
      if (!learned || !learned->loss || learned->steps == steps) continue;
      steps = learned->steps;
      if (world.now_s() < kRun_s / 5) lived.first_loss.add(*learned->loss);
      if (world.now_s() >= 4 * kRun_s / 5) lived.last_loss.add(*learned->loss);
    }
  }
  std::filesystem::remove_all(folder);
  return lived;
}

TEST_CASE("in the demo's world a network decides after the first minute and the loss falls") {
  if (cannot_learn()) return;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    const Lived lived = live(seed);
    REQUIRE(lived.received.count() > 100);
    CHECK(lived.received.mean() > 0.5);
    REQUIRE(lived.first_loss.count() > 0);
    CHECK(lived.last_loss.mean() < lived.first_loss.mean());
  }
}

}  // namespace
}  // namespace wattle::controller::test
