#include "sim/live/fleet.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace wattle;
using namespace wattle::sim;
using namespace wattle::sim::live;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

MonoTime at(double s) { return mono_from_ns(static_cast<std::int64_t>(s * 1e9) + kSecond); }

FleetPod pod(const std::string& uid, const std::string& node, double demand_cores) {
  FleetPod value;
  value.uid = uid;
  value.node = node;
  value.cpu_request_cores = 0.25;
  value.memory_request_bytes = 64e6;
  value.demand_cores = demand_cores;
  return value;
}

Fleet fleet(FleetOptions options = {}) { return Fleet(synthetic_fleet(3, 7), options, at(0)); }

std::uint64_t shares(const Record& record) {
  std::uint64_t sum = *record.node.idle_energy_uj + *record.node.unattributed_energy_uj;
  for (const WorkloadValues& workload : record.workloads) sum += *workload.energy_uj;
  return sum;
}

}  // namespace

TEST_CASE("a sample's energy is divided to the microjoule while pods start and end") {
  Fleet nodes = fleet();
  std::mt19937_64 random(5);
  double now_s = 0;
  REQUIRE_FALSE(nodes.sample(0, at(now_s)).node.energy_uj);  // no interval yet
  for (int tick = 0; tick < 100; ++tick) {
    for (int change = 0; change < 3; ++change) {
      now_s += 0.1;
      const std::string uid = "pod-" + std::to_string(random() % 12);
      if (!nodes.unbind(uid, at(now_s))) REQUIRE(nodes.bind(pod(uid, "sim-00", 0.3), at(now_s)));
    }
    now_s += 0.7;
    const Record record = nodes.sample(0, at(now_s));
    CHECK(record.seq == static_cast<std::uint64_t>(tick) + 2);
    CHECK(shares(record) == *record.node.energy_uj);
    CHECK(record.node.energy_source == EnergySource::estimated);
  }
}

TEST_CASE("watts follow the true curve at the load of the pods") {
  FleetOptions options;
  options.power_noise_ratio = 0;
  Fleet nodes = fleet(options);
  const ServerModel& server = nodes.server(1);
  REQUIRE(nodes.bind(pod("a", "sim-01", server.cores / 2), at(0)));
  const Record record = nodes.sample(1, at(2));
  const double load = (server.cores / 2 + nodes.background_cores(1)) / server.cores;
  CHECK(static_cast<double>(*record.node.energy_uj) / 2e6 == doctest::Approx(server.watts_at(load)));
  CHECK(*record.node.cpu_used_cores == doctest::Approx(load * server.cores));
  REQUIRE(record.workloads.size() == 1);
  CHECK(static_cast<double>(*record.workloads[0].cpu_usage_us) == doctest::Approx(server.cores * 1e6));
}

TEST_CASE("true energy is the integral of true watts, whenever it is read or sampled") {
  auto f = fleet();
  const std::string node = f.server(1).name;
  const double idle_w = f.power_w(1);
  CHECK(f.energy_j(1, at(10)) == doctest::Approx(10 * idle_w));
  REQUIRE(f.bind(pod("u1", node, 3), at(10)));
  const double busy_w = f.power_w(1);
  CHECK(busy_w > idle_w);
  (void)f.sample(1, at(14));
  CHECK(f.energy_j(1, at(20)) == doctest::Approx(10 * idle_w + 10 * busy_w));
  REQUIRE(f.unbind("u1", at(25)));
  CHECK(f.energy_j(1, at(30)) == doctest::Approx(15 * idle_w + 15 * busy_w));
}

TEST_CASE("pressure is absent from an idle node and rises when it is crowded") {
  Fleet nodes = fleet();
  const double cores = nodes.server(0).cores;
  CHECK(*nodes.sample(0, at(1)).node.pressure.cpu_some_ratio == 0);
  REQUIRE(nodes.bind(pod("a", "sim-00", cores), at(1)));
  const Record crowded = nodes.sample(0, at(2));
  CHECK(*crowded.node.pressure.cpu_some_ratio > 0.2);
  REQUIRE(nodes.bind(pod("b", "sim-00", cores), at(2)));
  const Record more = nodes.sample(0, at(3));
  CHECK(*more.node.pressure.cpu_some_ratio > *crowded.node.pressure.cpu_some_ratio);
  CHECK(*more.node.cpu_used_cores <= cores);
}

TEST_CASE("binding again to the same node changes nothing; to another or an unknown one is refused") {
  Fleet nodes = fleet();
  const auto first = nodes.bind(pod("a", "sim-00", 1), at(0));
  REQUIRE(first);
  const auto again = nodes.bind(pod("a", "sim-00", 1), at(1));
  REQUIRE(again);
  CHECK(again->cgroup_id == first->cgroup_id);
  CHECK(nodes.pods() == 1);
  CHECK(nodes.bind(pod("a", "sim-01", 1), at(1)).error().code == Errc::conflict);
  CHECK(nodes.bind(pod("b", "elsewhere", 1), at(1)).error().message().find("elsewhere") != std::string::npos);
  CHECK(nodes.unbind("b", at(1)).error().code == Errc::not_found);
  CHECK(nodes.unbind("a", at(1))->gone);
}

TEST_CASE("a full node refuses") {
  FleetOptions options;
  options.pods_per_node = 1;
  Fleet nodes = fleet(options);
  REQUIRE(nodes.bind(pod("a", "sim-00", 1), at(0)));
  CHECK(nodes.bind(pod("b", "sim-00", 1), at(0)).error().code == Errc::exhausted);
}

TEST_CASE("a pod with a lifetime ends by itself and is reported once as ended") {
  Fleet nodes = fleet();
  FleetPod mortal = pod("a", "sim-00", 1);
  mortal.lifetime_s = 5;
  REQUIRE(nodes.bind(mortal, at(0)));
  CHECK(nodes.expire(at(4.9)).empty());
  const auto gone = nodes.expire(at(5));
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].gone);
  const Record last = nodes.sample(0, at(6));
  REQUIRE(last.workloads.size() == 1);
  CHECK(last.workloads[0].ended);
  CHECK(nodes.sample(0, at(7)).workloads.empty());
}

TEST_CASE("latency shifts at its time, and the probe's median follows within its window") {
  FleetOptions options;
  options.probe_window = 5;
  options.shifts = {{10, "sim-01", 200}};
  Fleet nodes = fleet(options);
  const double before = nodes.latency_ms(1, at(9.9));
  CHECK(before < 40);
  CHECK(nodes.latency_ms(1, at(10)) == 200);
  CHECK(nodes.latency_ms(0, at(10)) < 40);
  for (int s = 1; s < 10; ++s) nodes.sample(1, at(s));
  CHECK(*nodes.sample(1, at(9.9)).probes[0].p50_ms < 50);
  Record record;
  for (int s = 10; s < 16; ++s) record = nodes.sample(1, at(s));
  CHECK(*record.probes[0].p50_ms > 150);
  CHECK(*record.probes[0].p95_ms >= *record.probes[0].p50_ms);
}

TEST_CASE("a rotation moves every latency to the next node") {
  FleetOptions options;
  options.rotate_every_s = 30;
  const Fleet nodes = fleet(options);
  for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.latency_ms(i, at(31)) == nodes.latency_ms((i + 1) % 3, at(0)));
}

TEST_CASE("a node that is turned off draws the published energy of shutdown and boot, and off power in between") {
  FleetOptions options;
  options.sleep_speedup = 30;
  Fleet nodes(synthetic_fleet(2, 3), options, at(0));
  const double idle_w = nodes.power_w(0);
  nodes.turn(0, false, at(10));
  CHECK_FALSE(nodes.runs(0));
  nodes.follow(at(11));
  CHECK(nodes.power_switch(0).state() == ServerSwitch::State::off);
  CHECK(nodes.power_w(0) == ServerSwitch::off_w());
  nodes.turn(0, true, at(100));
  CHECK(nodes.power_switch(0).state() == ServerSwitch::State::booting);
  nodes.follow(at(110));
  CHECK(nodes.runs(0));
  const double boot_s = 152.0 / 30, shutdown_s = 6.1 / 30;
  const double expected_j = 10 * idle_w + ServerSwitch::shutdown_j() + ServerSwitch::off_w() * (90 - shutdown_s) +
                            ServerSwitch::boot_j() + idle_w * (10 - boot_s);
  CHECK(nodes.energy_j(0, at(110)) == doctest::Approx(expected_j));
  CHECK(nodes.power_switch(0).shutdowns() == 1);
  CHECK(nodes.power_switch(0).boots() == 1);
  // Its agent starts from scratch: the first record covers only the time since the boot.
  const auto record = nodes.sample(0, at(110));
  CHECK(record.seq == 1);
  CHECK(static_cast<double>(record.interval_ns) / 1e9 == doctest::Approx(10 - boot_s));
}

TEST_CASE("an order without effect is accepted, and a wake during the shutdown follows it") {
  FleetOptions options;
  options.sleep_speedup = 1;
  Fleet nodes(synthetic_fleet(1, 3), options, at(0));
  nodes.turn(0, true, at(1));
  CHECK(nodes.runs(0));
  nodes.turn(0, false, at(2));
  nodes.turn(0, false, at(3));
  nodes.turn(0, true, at(4));
  nodes.follow(at(9));
  CHECK(nodes.power_switch(0).state() == ServerSwitch::State::booting);
  nodes.turn(0, true, at(20));
  nodes.follow(at(9 + 152));
  CHECK(nodes.runs(0));
  CHECK(nodes.power_switch(0).shutdowns() == 1);
  CHECK(nodes.power_switch(0).boots() == 1);
}

TEST_CASE("pods of a node that is turned off stop, and run again after its boot") {
  FleetOptions options;
  options.sleep_speedup = 30;
  Fleet nodes(synthetic_fleet(1, 3), options, at(0));
  REQUIRE(nodes.bind(pod("p", "sim-00", 0.5), at(0)));
  nodes.turn(0, false, at(5));
  nodes.follow(at(30));
  nodes.turn(0, true, at(30));
  nodes.follow(at(40));
  CHECK(nodes.pod_s(0) == doctest::Approx(5 + 10 - 152.0 / 30));
  CHECK(nodes.bound_to(0).size() == 1);
}
