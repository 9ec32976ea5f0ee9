#include "agent/marginal_power.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace wattle;
using namespace wattle::agent;

namespace {
// A node with the given power, in ticks of one second.
struct Drawn {
  void tick(double cores, double power_w) {
    record.interval_ns = 1'000'000'000;
    record.node.cpu_used_cores = cores;
    record.node.energy_uj = static_cast<std::uint64_t>(std::llround(power_w * 1e6));
    marginal.add(record);
  }
  // Usage varies within half an hour.
  template <class Power>
  void pass(int seconds, const Power& power_w) {
    for (int i = 0; i < seconds; ++i) {
      const double cores = 4 + 3 * std::sin(at++ / 300) + noise(random);
      tick(cores, power_w(cores) + 20 * noise(random));
    }
  }
  Drawn() { record.node.energy_source = EnergySource::rapl; }

  Record record;
  MarginalPower marginal;
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> noise{-0.2, 0.2};
  double at = 0;
};
}  // namespace

TEST_CASE("watts per core are known once usage has varied, and follow changes") {
  Drawn node;
  node.pass(590, [](double cores) { return 60 + 5 * cores; });
  CHECK_FALSE(node.marginal.core_w());
  node.pass(3'000, [](double cores) { return 60 + 5 * cores; });
  REQUIRE(node.marginal.core_w());
  CHECK(*node.marginal.core_w() == doctest::Approx(5).epsilon(0.03));
  node.pass(5 * 3'600, [](double cores) { return 60 + 8 * cores; });
  REQUIRE(node.marginal.core_w());
  CHECK(*node.marginal.core_w() == doctest::Approx(8).epsilon(0.03));
}

TEST_CASE("watts per core are unknown if usage is constant, power does not follow it, or the slope is negative") {
  Drawn flat, unrelated, upside_down;
  for (int i = 0; i < 3'600; ++i) flat.tick(2, 70);
  CHECK_FALSE(flat.marginal.core_w());
  unrelated.pass(3'600, [&](double) { return 60 + 100 * unrelated.noise(unrelated.random); });
  CHECK_FALSE(unrelated.marginal.core_w());
  upside_down.pass(3'600, [](double cores) { return 100 - 5 * cores; });
  CHECK_FALSE(upside_down.marginal.core_w());
}

TEST_CASE("lower bounds and ticks without energy do not count, and another source starts from scratch") {
  Drawn node;
  node.pass(3'600, [](double cores) { return 60 + 5 * cores; });
  REQUIRE(node.marginal.core_w());
  const double known = *node.marginal.core_w();
  node.record.node.energy_gap = true;
  node.tick(8, 0);
  node.record.node.energy_gap = false;
  node.record.node.energy_uj.reset();
  node.marginal.add(node.record);
  CHECK(*node.marginal.core_w() == known);
  node.record.node.energy_source = EnergySource::estimated;
  node.tick(4, 80);
  CHECK_FALSE(node.marginal.core_w());
}
