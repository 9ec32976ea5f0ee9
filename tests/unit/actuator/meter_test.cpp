#include "actuator/meter.hpp"

#include <doctest/doctest.h>

#include "actuator/node_load.hpp"
#include "actuator/throttled_wait.hpp"
#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

TEST_CASE("CPU and memory of a cgroup v2 are measured") {
  const KernelTree tree;
  tree.add("/a", "max", "0", "max");
  overwrite(tree.root() + "/a/cpu.stat",
            "usage_usec 1500\nuser_usec 1\nnr_periods 7\nnr_throttled 3\nthrottled_usec 9\n");
  KernelOs os;
  CgroupLimits limits(tree.mounts(), os);
  const Target target = *limits.find("/a");
  auto without = Meter::open_(limits, target);
  REQUIRE(without);
  CHECK(without->cpu()->used_us == 1500);
  CHECK(without->cpu()->throttled == 3);
  CHECK(without->cpu()->throttled_us == 9);
  CHECK_FALSE(without->memory()->has_value());
  overwrite(tree.root() + "/a/memory.current", "8192\n");
  overwrite(tree.root() + "/a/memory.stat",
            "anon 1\ninactive_file 4096\nworkingset_refault_anon 2\nworkingset_refault_file 3\n");
  overwrite(tree.root() + "/a/memory.events", "low 0\nhigh 5\nmax 0\n");
  overwrite(tree.root() + "/a/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
  const auto meter = Meter::open_(limits, target);
  REQUIRE(meter);
  const auto memory = meter->memory();
  REQUIRE((memory && *memory));
  CHECK((*memory)->working_set_bytes == 4096);
  CHECK((*memory)->refaults == 5);
  CHECK((*memory)->high_events == 5);
  CHECK((*memory)->stall_us == 77);
}

TEST_CASE("CPU of a cgroup v1 comes from cpuacct") {
  const KernelTree tree(false);
  tree.add("/a", "-1", "0", "");
  overwrite(tree.root() + "/a/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 9000\n");
  overwrite(tree.root() + "/a/cpuacct.usage", "2500000\n");
  KernelOs os;
  CgroupLimits limits(tree.mounts(), os);
  auto meter = Meter::open_(limits, *limits.find("/a"));
  REQUIRE(meter);
  CHECK(meter->cpu()->used_us == 2500);
  overwrite(tree.root() + "/a/cpuacct.usage", "3500000\n");
  CHECK(meter->cpu(false)->used_us == 2500);
  CHECK(meter->cpu()->used_us == 3500);
  CHECK(meter->cpu()->throttled == 3);
  CHECK(meter->cpu()->throttled_us == 9);
}

TEST_CASE("waiting for a workload's own quota is at most its throttled time, and less if several CPUs were throttled") {
  CHECK(throttled_wait_s(0, 0.5, 1) == 0);
  CHECK(throttled_wait_s(0.1, 0.1, 1) == doctest::Approx(0.1));  // no task wants to run in the rest of the time
  CHECK(throttled_wait_s(0.5, 0.5, 1) == doctest::Approx(0.5));
  CHECK(throttled_wait_s(2, 2, 1) == doctest::Approx(0.5));  // each of four CPUs half the time
  CHECK(throttled_wait_s(2, -1, 1) == doctest::Approx(1));
  CHECK(throttled_wait_s(1, 1, 0) == 0);
}

namespace {
void put_load(const KernelTree& tree, const char* stat, const char* total) {
  std::filesystem::create_directories(tree.path() + "/proc/pressure");
  overwrite(tree.path() + "/proc/stat", stat);
  overwrite(tree.path() + "/proc/pressure/cpu",
            std::string("some avg10=0.00 avg60=0.00 avg300=0.00 total=") + total + "\n");
}
}  // namespace

TEST_CASE("headroom is the idle cores, less under pressure") {
  const KernelTree tree;
  const auto put = [&](const char* stat, const char* total) { put_load(tree, stat, total); };
  put("cpu 0 0 0 0 0 0 0 0 0 0\n", "0");
  auto load = NodeLoad::open_(tree.path() + "/proc", 4);
  REQUIRE(load);
  MonoTime now{std::chrono::seconds(5)};
  REQUIRE(load->read(now, 0));
  CHECK_FALSE(load->headroom_cores());
  put("cpu 50 0 50 200 100 0 0 0 0 0\n", "0");
  REQUIRE(load->read(now += std::chrono::seconds(1), 0));
  CHECK(*load->headroom_cores() == doctest::Approx(3));
  put("cpu 100 0 100 400 200 0 0 0 0 0\n", "50000");
  REQUIRE(load->read(now += std::chrono::seconds(1), 0));
  CHECK(*load->headroom_cores() == doctest::Approx(1.5));
  put("intr 5\n", "0");
  CHECK_FALSE(load->read(now += std::chrono::seconds(1), 0));
}

TEST_CASE("headroom follows CPUs that go offline and come online") {
  const KernelTree tree;
  const std::string one = "cpu0 0 0 0 0 0 0 0 0 0 0\n", two = one + "cpu7 0 0 0 0 0 0 0 0 0 0\n";
  put_load(tree, ("cpu 0 0 0 0 0 0 0 0 0 0\n" + two + "intr 5\n").c_str(), "0");
  auto load = NodeLoad::open_(tree.path() + "/proc", 4);
  REQUIRE(load);
  MonoTime now{std::chrono::seconds(5)};
  REQUIRE(load->read(now, 0));
  CHECK(load->cores() == 2);
  put_load(tree, ("cpu 50 0 0 50 0 0 0 0 0 0\n" + one + "intr 5\n").c_str(), "0");
  REQUIRE(load->read(now += std::chrono::seconds(1), 0));
  CHECK(load->cores() == 1);
  CHECK(*load->headroom_cores() == doctest::Approx(0.5));
  CHECK_FALSE(parse_online_cpus("cpu 1 2 3 4 5\ncpu0 1 2 3\ncpu1 1"));  // the text was cut
  CHECK_FALSE(parse_online_cpus("cpu 1 2 3 4 5\n"));
  CHECK_FALSE(parse_online_cpus(""));
}

TEST_CASE("headroom is not reduced when workloads wait for their own quota") {
  const KernelTree tree;
  put_load(tree, "cpu 0 0 0 0 0 0 0 0 0 0\n", "0");
  auto load = NodeLoad::open_(tree.path() + "/proc", 4);
  REQUIRE(load);
  MonoTime now{std::chrono::seconds(5)};
  REQUIRE(load->read(now, 700));
  // Half a core is busy, and one task is throttled a tenth of the time, which is all of the pressure.
  put_load(tree, "cpu 50 0 0 350 0 0 0 0 0 0\n", "100000");
  REQUIRE(load->read(now += std::chrono::seconds(1), 100'700));
  CHECK(*load->headroom_cores() == doctest::Approx(3.5));
  // Others also wait 5% of the time.
  put_load(tree, "cpu 140 0 0 660 0 0 0 0 0 0\n", "250000");
  REQUIRE(load->read(now += std::chrono::seconds(1), 200'700));
  CHECK(*load->headroom_cores() == doctest::Approx(3.1 / 2));
  // More throttling than pressure: no pressure is left, and the headroom is at most the idle cores.
  put_load(tree, "cpu 240 0 0 960 0 0 0 0 0 0\n", "260000");
  REQUIRE(load->read(now += std::chrono::seconds(1), 1'200'700));
  CHECK(*load->headroom_cores() == doctest::Approx(3));
}
