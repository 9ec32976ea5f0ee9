#include "agent/collect/estimate.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle;
using namespace wattle::agent;

TEST_CASE("an estimate goes from idle to full watts and never falls with load") {
  const PowerModel model{100, 300, {}, "test"};
  CHECK(model.power_w(0) == doctest::Approx(100));
  CHECK(model.power_w(1) == doctest::Approx(300));
  CHECK(model.power_w(7) == doctest::Approx(300));
  double before_w = 0;
  for (int percent = 0; percent <= 100; ++percent) {
    const double now_w = model.power_w(percent / 100.0);
    CHECK(now_w >= before_w);
    before_w = now_w;
  }
}

TEST_CASE("a curve of points is interpolated linearly") {
  const PowerModel model{100, 200, {0, 0.8, 1}, "test"};
  CHECK(model.power_w(0.25) == doctest::Approx(140));
  CHECK(model.power_w(0.5) == doctest::Approx(180));
  CHECK(model.power_w(0.75) == doctest::Approx(190));
}

TEST_CASE("an unknown processor gets the mean of servers, and is reported") {
  const auto known = table_model(CpuModel{"AuthenticAMD", "AMD EPYC 7B12", 23, 49, 0}, 4);
  CHECK(known.origin == "table: AMD EPYC 2nd Gen");
  CHECK(known.idle_w == doctest::Approx(4 * 0.4743));
  CHECK(table_model(CpuModel{"GenuineIntel", "", 6, 85, 7}, 1).origin == "table: Intel Cascade Lake");
  CHECK(table_model(CpuModel{"GenuineIntel", "", 6, 85, 4}, 1).origin == "table: Intel Skylake-SP");
  CHECK(table_model(std::nullopt, 2).origin == "table: mean over servers");
}

TEST_CASE("the idle part of an estimate is at most the estimate") {
  CHECK(rc::check([] {
    const PowerModel model{static_cast<double>(*rc::gen::inRange(0, 500)), 500, {}, "test"};
    const auto energy =
        estimate_energy(model, *rc::gen::inRange(0, 1000) / 1000.0, Duration(*rc::gen::inRange(0, 2'000'000'000)));
    RC_ASSERT(energy.idle_uj <= energy.energy_uj);
  }));
}

TEST_CASE("cpuinfo gives the first processor") {
  const auto cpu = parse_cpuinfo(
      "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
      "stepping\t: 1\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n");
  REQUIRE(cpu);
  CHECK(cpu->vendor == "AuthenticAMD");
  CHECK(cpu->family == 25);
  CHECK(cpu->model == 1);
  CHECK_FALSE(parse_cpuinfo("").has_value());
}
