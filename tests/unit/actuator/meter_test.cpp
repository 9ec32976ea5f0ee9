#include "actuator/meter.hpp"

#include <doctest/doctest.h>

#include "actuator/node_load.hpp"
#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

TEST_CASE("CPU and memory of a cgroup of v2") {
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

TEST_CASE("CPU of a cgroup of v1 is of cpuacct") {
  const KernelTree tree(false);
  tree.add("/a", "-1", "0", "");
  overwrite(tree.root() + "/a/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 9\n");
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
}

TEST_CASE("headroom is what is idle, less under pressure") {
  const KernelTree tree;
  std::filesystem::create_directories(tree.path() + "/proc/pressure");
  const auto put = [&](const char* stat, const char* total) {
    overwrite(tree.path() + "/proc/stat", stat);
    overwrite(tree.path() + "/proc/pressure/cpu",
              std::string("some avg10=0.00 avg60=0.00 avg300=0.00 total=") + total + "\n");
  };
  put("cpu 0 0 0 0 0 0 0 0 0 0\n", "0");
  auto load = NodeLoad::open_(tree.path() + "/proc", 4);
  REQUIRE(load);
  MonoTime now{std::chrono::seconds(5)};
  REQUIRE(load->read(now));
  CHECK_FALSE(load->headroom_cores());
  put("cpu 50 0 50 200 100 0 0 0 0 0\n", "0");
  REQUIRE(load->read(now += std::chrono::seconds(1)));
  CHECK(*load->headroom_cores() == doctest::Approx(3));
  put("cpu 100 0 100 400 200 0 0 0 0 0\n", "50000");
  REQUIRE(load->read(now += std::chrono::seconds(1)));
  CHECK(*load->headroom_cores() == doctest::Approx(1.5));
  put("intr 5\n", "0");
  CHECK_FALSE(load->read(now += std::chrono::seconds(1)));
}
