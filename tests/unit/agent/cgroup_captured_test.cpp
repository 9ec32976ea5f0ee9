// Captured cgroup files of several kernels and drivers (tests/fixtures/agent/cgroup-files, each with its origin), read
// by the collector as those of a service: the reported values, and the unknown ones.
#include <doctest/doctest.h>

#include "agent/collect/cgroup.hpp"
#include "agent/collect/cgroup_files.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
struct CgroupMachine {
  const char* name;
  const char* reported;  // - for values that are not in the files; pressures: some and full
};
const std::vector<CgroupMachine> kCgroupMachines{
    {"openshift-crio",
     "cpu 14055882950 throttled 576863747453 memory 68997120 anon - file - read 0 written 94208 high - killed - pids - "
     "psi - - - - - -"},
    {"two-node-server",
     "cpu 98701325189 throttled 19175137007 memory 13071106048 anon 2471755776 file 8532865024 read 74526720 "
     "written 3789381632 high 0 killed 0 pids 592 psi 293391454 277111656 250773 250662 185162400 184607952"},
    {"qemu-without-cpu-controller",
     "cpu 614953149468 throttled - memory - anon - file - read - written - high - killed - pids - psi - - - - - -"},
    {"firecracker",
     "cpu 62338613 throttled 0 memory - anon - file - read - written - high - killed - pids - "
     "psi 44618 44480 0 0 1498421 1497869"},
    {"debian-11",
     "cpu 0 throttled 0 memory - anon - file - read - written - high - killed - pids - psi 73759571709 - - - - -"},
    {"linux-4.19",
     "cpu 7300012 throttled 91000 memory 52428800 anon 20480000 file 30720000 read 91889664 written 613781504 "
     "high 7 killed 1 pids 4 psi - - - - - -"},
    {"oom-killed",
     "cpu 0 throttled - memory 278528 anon - file - read - written - high 0 killed 1 pids - psi - - - - - -"},
    {"crun-memory",
     "cpu 1 throttled - memory - anon 790425600 file 6502666240 read 4085928809984 written 1036680752640 "
     "high - killed - pids - psi - - - - - -"},
    {"lxd-names-without-values",
     "cpu 1 throttled - memory - anon - file - read 352256 written 0 high - killed - pids - psi - - - - - -"},
    {"lxd-host",
     "cpu 1 throttled - memory - anon - file - read 1016241821184 written 342788318208 high - killed - pids - "
     "psi - - - - - -"},
    {"zfs-unknown-device",
     "cpu 1 throttled - memory - anon - file - read 0 written 0 high - killed - pids - psi - - - - - -"},
    {"torn-io-stat",
     "cpu 1 throttled - memory - anon - file - read 0 written 0 high - killed - pids - psi - - - - - -"},
};

std::string text_of(const WorkloadValues& values, const WorkloadCounters& raw) {
  const auto one = [](std::optional<std::uint64_t> value) { return value ? " " + std::to_string(*value) : " -"; };
  const auto io = [&](std::uint64_t IoTotals::*which) { return raw.io ? one((*raw.io).*which) : " -"; };
  const auto psi = [&](const PsiTotals& totals) { return one(totals.some_us) + one(totals.full_us); };
  return "cpu" + one(raw.cpu_usage_us) + " throttled" + one(raw.cpu_throttled_us) + " memory" +
         one(values.memory_bytes) + " anon" + one(values.memory_anon_bytes) + " file" + one(values.memory_file_bytes) +
         " read" + io(&IoTotals::read_bytes) + " written" + io(&IoTotals::write_bytes) + " high" +
         one(raw.events.high) + " killed" + one(raw.events.oom_kills) + " pids" + one(values.pids) + " psi" +
         psi(raw.pressure.cpu) + psi(raw.pressure.memory) + psi(raw.pressure.io);
}
}  // namespace

TEST_CASE("for captured cgroups the collector reports exactly what their files contain") {
  for (const auto& machine : kCgroupMachines) {
    CAPTURE(machine.name);
    const Tree tree;
    const std::string name = machine.name;
    tree.lay_out("cgroup-files/" + name + ".txt", "system.slice/" + name + ".service/");
    CgroupCollector collector(CgroupTree::open_(std::move(*Dir::open_(tree.path())), {}));
    collector.leave_out({7, 252, 253});
    CgroupReadings readings;
    ManualClock clock;
    std::vector<char> scratch(4096);
    collector.read(readings, clock, 4, scratch);
    REQUIRE(readings.workloads.size() == 1);
    CHECK(readings.workloads[0].name == std::string(machine.name) + ".service");
    CHECK(text_of(readings.workloads[0], readings.counters[0]) == machine.reported);

    // Nothing has changed since: known counts are now 0, and unknown ones stay unknown.
    clock.advance(1s);
    collector.read(readings, clock, 4, scratch);
    REQUIRE(readings.workloads.size() == 1);
    const WorkloadValues& values = readings.workloads[0];
    const WorkloadCounters& raw = readings.counters[0];
    CHECK(values.cpu_usage_us == std::optional<std::uint64_t>(0));
    CHECK(values.cpu_throttled_us.has_value() == raw.cpu_throttled_us.has_value());
    CHECK(values.pressure.cpu_some_ratio.has_value() == raw.pressure.cpu.some_us.has_value());
    CHECK(values.pressure.cpu_full_ratio.has_value() == raw.pressure.cpu.full_us.has_value());
    CHECK(values.pressure.io_full_ratio.value_or(0) == 0);
  }
}

TEST_CASE("stacked disks are recognised by the majors that the kernel assigned") {
  const std::string lvm =
      "Character devices:\n  1 mem\n  7 vcs\n253 device-mapper\n\nBlock devices:\n  1 ramdisk\n  7 loop\n  8 sd\n  9 "
      "md\n"
      "252 device-mapper\n253 zram\n254 mdp\n259 blkext\n";
  CHECK(parse_stacked_majors(lvm) == std::vector<unsigned>{1, 7, 252, 253});
  CHECK(parse_stacked_majors("Block devices:\n  8 sd\n65 sd\n259 blkext\n").empty());
  CHECK(parse_stacked_majors("").empty());

  const std::string io =
      "8:0 rbytes=100 wbytes=10\n252:0 rbytes=100 wbytes=10\n9:0 rbytes=5 wbytes=6\n(unknown) rbytes=1 wbytes=2\n";
  const std::vector<unsigned> majors{252};
  CHECK(parse_io_stat(io, majors).read_bytes == 106);
  CHECK(parse_io_stat(io, majors).write_bytes == 18);
  CHECK(parse_io_stat(io).read_bytes == 206);
}
