#include "agent/attribute/attribute.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "agent/collect/rapl.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
std::uint64_t sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}
}  // namespace

TEST_CASE("shares + idle + unattributed add up to the measured energy to the microjoule, across counter wraps") {
  CHECK(rc::check([] {
    constexpr std::uint64_t kRange = 262143328850;
    Attributor attributor;
    std::uint64_t counter = *rc::gen::inRange<std::uint64_t>(0, kRange);
    MonoTime at{};
    for (int tick = 0; tick < 20; ++tick) {
      const auto used = *rc::gen::inRange<std::uint64_t>(0, kRange);
      // The register counts up to its range, and then from 0.
      const std::uint64_t next = used <= kRange - counter ? counter + used : used - (kRange - counter);
      const auto energy = delta_energy({at, counter}, {at + std::chrono::seconds(1), next}, kRange, 250e3);
      RC_ASSERT(energy.has_value());
      RC_ASSERT(energy->energy_uj == used);
      RC_ASSERT(!energy->gap);
      const auto usage =
          *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 64'000'000));
      const auto idle = *rc::gen::arbitrary<std::uint64_t>();
      const auto total_us = *rc::gen::inRange<std::uint64_t>(0, 128'000'000);
      std::vector<CpuUse> roots;
      for (const auto us : usage) roots.push_back({us, {}});
      const EnergyPool pool{0, energy->energy_uj, idle};
      const auto& result = attributor.attribute({&pool, 1}, roots, {total_us, {}});
      RC_ASSERT(result.shares_uj.size() == usage.size());
      RC_ASSERT(sum(result.shares_uj) + result.idle_uj + result.unattributed_uj == used);
      RC_ASSERT(result.idle_uj == std::min(idle, used));
      counter = next;
      at += std::chrono::seconds(1);
    }
  }));
}

TEST_CASE("energy follows CPU time, and the part that no workload used stays unattributed") {
  Attributor attributor;
  const std::vector<CpuUse> roots{{300'000, {}}, {100'000, {}}};
  const std::vector<EnergyPool> pools{{std::nullopt, 1'000'000, 400'000}};
  const auto& result = attributor.attribute(pools, roots, {600'000, {}});
  CHECK(result.idle_uj == 400'000);
  CHECK(result.shares_uj == std::vector<std::uint64_t>{300'000, 100'000});
  CHECK(result.unattributed_uj == 200'000);
}

TEST_CASE("energy of an interval without any CPU time belongs to no workload") {
  Attributor attributor;
  const std::vector<CpuUse> roots(2);
  const std::vector<EnergyPool> pools{{std::nullopt, 1'000, 400}};
  const auto& result = attributor.attribute(pools, roots, {});
  CHECK(result.shares_uj == std::vector<std::uint64_t>{0, 0});
  CHECK(result.unattributed_uj == 600);
}

TEST_CASE("a package's energy goes to the workloads that ran on it, and the platform's to all by CPU time") {
  Attributor attributor;
  const std::vector<std::uint64_t> left{800, 0}, right{0, 300}, all{1000, 600};
  const std::vector<CpuUse> roots{{600'000, left}, {200'000, right}};
  const CpuUse total{1'000'000, all};
  const std::vector<EnergyPool> pools{{0, 1'100, 100}, {1, 700, 100}, {std::nullopt, 1'000, 0}};
  const auto& result = attributor.attribute(pools, roots, total);
  CHECK(result.idle_uj == 200);
  CHECK(result.shares_uj == std::vector<std::uint64_t>{800 + 600, 300 + 200});
  CHECK(result.unattributed_uj == 200 + 300 + 200);
}

TEST_CASE(
    "a root with unknown packages is spread as the others, and a package without a total is divided by CPU time") {
  Attributor attributor;
  const std::vector<std::uint64_t> one{100}, all{400};
  const std::vector<CpuUse> roots{{500, {}}, {250, one}};
  const std::vector<EnergyPool> pools{{0, 400, 0}, {1, 1000, 0}};
  const auto& result = attributor.attribute(pools, roots, {1000, all});
  CHECK(result.shares_uj == std::vector<std::uint64_t>{200 + 500, 100 + 250});
  CHECK(result.unattributed_uj == 100 + 250);
}

TEST_CASE("any pools and roots add up to the microjoule, and each root's energy is its sum over pools") {
  CHECK(rc::check([] {
    const auto weight = rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62);
    const auto table = [&] { return *rc::gen::container<std::vector<std::uint64_t>>(weight); };
    std::vector<std::vector<std::uint64_t>> tables(*rc::gen::inRange<std::size_t>(0, 8));
    std::vector<CpuUse> roots;
    for (auto& one : tables) {
      one = table();
      roots.push_back({*weight, one});
    }
    const auto all = table();
    std::vector<EnergyPool> pools(*rc::gen::inRange<std::size_t>(0, 5));
    std::uint64_t measured = 0;
    for (auto& pool : pools) {
      if (*rc::gen::arbitrary<bool>()) pool.package = *rc::gen::inRange(0U, 6U);
      pool.energy_uj = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 60);
      pool.idle_uj = *rc::gen::arbitrary<std::uint64_t>();
      measured += pool.energy_uj;
    }
    Attributor attributor;
    const auto& result = attributor.attribute(pools, roots, {*weight, all});
    RC_ASSERT(result.shares_uj.size() == roots.size());
    RC_ASSERT(sum(result.shares_uj) + result.idle_uj + result.unattributed_uj == measured);
  }));
}

TEST_CASE("idle power is the estimate from the least busy moment") {
  IdlePower idle({10, 50, {0, 1}, "test"});
  CHECK_FALSE(idle.idle_w());
  idle.observe(100, 1.0);  // by the shape, a full machine draws five times its idle power
  CHECK(*idle.idle_w() == doctest::Approx(20));
  idle.observe(25, 0.0);
  CHECK(*idle.idle_w() == doctest::Approx(25));
  idle.observe(40, 0.9);  // busier than before: no new information
  CHECK(*idle.idle_w() == doctest::Approx(25));
  idle.observe(24, 0.0);
  CHECK(*idle.idle_w() == doctest::Approx(24));
}
