#include "sim/world/power.hpp"

#include <doctest/doctest.h>

#include "sim/world/workload.hpp"

using namespace wattle::sim;

TEST_CASE("watts are linear between the eleven points and constant beyond the ends") {
  ServerModel server;
  for (std::size_t i = 0; i < kWattPoints; ++i) server.watts[i] = 100.0 + 10.0 * static_cast<double>(i * i);
  CHECK(server.watts_at(0) == doctest::Approx(100));
  CHECK(server.watts_at(0.05) == doctest::Approx(105));
  CHECK(server.watts_at(0.95) == doctest::Approx(0.5 * (910 + 1100)));
  CHECK(server.watts_at(1) == doctest::Approx(1100));
  CHECK(server.watts_at(7) == doctest::Approx(1100));
  CHECK(server.watts_at(-1) == doctest::Approx(100));
}

TEST_CASE("a synthetic fleet is reproducible by seed, rises with load and differs between servers") {
  const auto fleet = synthetic_fleet(50, 3);
  const auto again = synthetic_fleet(50, 3);
  const auto other = synthetic_fleet(50, 4);
  REQUIRE(fleet.size() == 50);
  CHECK(fleet[0].name == "sim-00");
  int concave_then_convex = 0;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto& w = fleet[i].watts;
    CHECK(w == again[i].watts);
    CHECK(w != other[i].watts);
    for (std::size_t p = 1; p < kWattPoints; ++p) CHECK(w[p] > w[p - 1]);
    CHECK(fleet[i].sleep_w < w[0]);
    CHECK(fleet[i].wake_energy_j > 0);
    const double middle = w[6] - w[5];
    concave_then_convex += w[1] - w[0] > middle && w[10] - w[9] > middle ? 1 : 0;
  }
  CHECK(concave_then_convex > 25);
}

TEST_CASE("a table of servers is read, and an invalid row is refused by its line") {
  const std::string head =
      "cores,memory_gb,watts_0,watts_10,watts_20,watts_30,watts_40,watts_50,watts_60,watts_70,watts_80,watts_90,watts_"
      "100\n";
  const auto good = parse_servers(head + "8,16.0,50,60,70,80,90,100,110,120,130,140,150\n", "t.csv");
  REQUIRE(good);
  CHECK(good->at(0).cores == 8);
  CHECK(good->at(0).watts_at(0.5) == doctest::Approx(100));
  for (const std::string row : {"8,16.0,50,60\n", "8,16.0,x,60,70,80,90,100,110,120,130,140,150\n",
                                "8,16.0,-5,60,70,80,90,100,110,120,130,140,150\n", "\n"}) {
    const auto bad = parse_servers(head + row, "t.csv");
    REQUIRE_FALSE(bad);
    CHECK(bad.error().subject == "t.csv");
  }
  CHECK(parse_servers(head + "8,16.0,50,60\n", "t.csv").error().what.find("line 2") != std::string::npos);
  CHECK_FALSE(load_servers("/does/not/exist"));
}

TEST_CASE("drawing from a table repeats servers only when they run out") {
  std::vector<ServerModel> servers(3);
  for (std::size_t i = 0; i < 3; ++i) servers[i].cores = static_cast<double>(i + 1);
  const auto fleet = draw_fleet(servers, 3, 1);
  REQUIRE(fleet);
  CHECK(fleet->at(0).cores + fleet->at(1).cores + fleet->at(2).cores == 6);
  CHECK(draw_fleet(servers, 7, 1)->size() == 7);
  CHECK_FALSE(draw_fleet({}, 1, 1));
}

TEST_CASE("a pod's usage varies around its mean and is a function of pod and slot alone") {
  Workload workload(mixed_profiles({}, 1), {}, 1);
  Workload again(mixed_profiles({}, 1), {}, 1);
  for (int i = 0; i < 20; ++i) {
    const SimPod pod = workload.next();
    CHECK(pod.spec.uid == again.next().spec.uid);
    double sum = 0;
    constexpr std::uint64_t kSlots = 4000;
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) sum += demand_cores(pod, slot);
    CHECK(sum / kSlots == doctest::Approx(pod.mean_demand_cores).epsilon(0.05));
    CHECK(demand_cores(pod, 5) == demand_cores(pod, 5));
  }
}
