#include "agent/collect/perf_energy.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "agent/collect/energy.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr const char* kScale = "2.3283064365386962890625e-10\n";

// Composed after Documentation/ABI/testing/sysfs-bus-event_source-devices-events and arch/x86/events/rapl.c: two sockets,
// CPUs 0 and 28 stand for them, package and DRAM counted.
void power_pmu(const Tree& tree) {
  const std::string at = "sys/bus/event_source/devices/power/";
  tree.put(at + "type", "13\n");
  tree.put(at + "cpumask", "0,28\n");
  for (const auto& [name, event] : {std::pair{"energy-pkg", "event=0x02\n"}, std::pair{"energy-ram", "event=0x03\n"}}) {
    tree.put(at + "events/" + name, event);
    tree.put(at + "events/" + std::string(name) + ".scale", kScale);
    tree.put(at + "events/" + std::string(name) + ".unit", "Joules\n");
  }
  for (const auto& [cpu, socket] : {std::pair{"0", "0\n"}, std::pair{"28", "1\n"}}) {
    tree.put("sys/devices/system/cpu/cpu" + std::string(cpu) + "/topology/physical_package_id", socket);
    tree.put("sys/devices/system/cpu/cpu" + std::string(cpu) + "/topology/die_id", "0\n");
  }
}

// Replaces the kernel: a counter per (event, CPU); reading an absent one fails.
struct PmuCounters {
  std::map<std::pair<std::uint64_t, unsigned>, std::optional<std::uint64_t>> values;
  std::map<int, std::pair<std::uint64_t, unsigned>> open;
  bool denied = false;
  std::set<std::uint64_t> still;  // events that stay at zero

  PerfPort port() {
    PerfPort port;
    port.open = [this](std::uint32_t type, std::uint64_t config, unsigned cpu) -> Result<Fd> {
      CHECK(type == 13);
      if (denied) return fail(Errc::denied, "perf_event_open", "Permission denied", "grant CAP_PERFMON");
      Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      open[fd.get()] = {config, cpu};
      values[{config, cpu}] = 0;
      return fd;
    };
    port.is_stuck = [this](int fd) { return still.contains(open.at(fd).first); };
    port.read = [this](int fd) -> Result<std::uint64_t> {
      const auto& value = values.at(open.at(fd));
      if (!value) return fail(Errc::unavailable, "perf counter", "is at its end");
      return *value;
    };
    return port;
  }
};
}  // namespace

TEST_CASE("perf: counts become whole microjoules, and differences lose nothing however often they are read") {
  CHECK(*parse_perf_scale(kScale) == std::ldexp(1.0, -32));
  CHECK(perf_energy_uj(std::uint64_t{1} << 32, std::ldexp(1.0, -32)) == 1'000'000);
  CHECK(perf_energy_uj(~std::uint64_t{0}, std::ldexp(1.0, -32)) == 4294967295999999);
  CHECK(perf_energy_uj(7, 1.0) == 7'000'000);
  CHECK(perf_energy_uj(~std::uint64_t{0}, 1.0) == ~std::uint64_t{0});
  CHECK(rc::check([] {
    std::uint64_t count = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 50), reported = 0;
    const std::uint64_t first = perf_energy_uj(count, std::ldexp(1.0, -32));
    std::uint64_t prev = first;
    for (int i = 0; i < 100; ++i) {
      count += *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
      const std::uint64_t now = perf_energy_uj(count, std::ldexp(1.0, -32));
      reported += now - prev;
      prev = now;
    }
    RC_ASSERT(first + reported == perf_energy_uj(count, std::ldexp(1.0, -32)));
  }));
}

TEST_CASE("perf: event, scale and CPU lists are parsed, and garbage is refused") {
  CHECK(parse_perf_event("event=0x02\n") == 2U);
  CHECK(parse_perf_event("event=5") == 5U);
  for (const char* garbage : {"", "event=", "event=0x", "config=0x02", "event=0x02,umask=1"})
    CHECK_MESSAGE(!parse_perf_event(garbage).has_value(), garbage);
  CHECK(parse_cpu_list("0-2,14\n") == std::vector<unsigned>{0, 1, 2, 14});
  for (const char* garbage : {"", "a", "1-", "3-1", "0,,1", "0-99999", "4294967295"})
    CHECK_MESSAGE(parse_cpu_list(garbage).empty(), garbage);
  for (const char* garbage : {"", "0", "-1", "nan", "2", "1e-400x"})
    CHECK_MESSAGE(!parse_perf_scale(garbage).has_value(), garbage);
}

TEST_CASE("perf: each event and package has a counter, labelled as powercap's; its first reading has no energy") {
  const Tree tree;
  power_pmu(tree);
  PmuCounters kernel;
  auto perf = PerfEnergy::open_(Roots::below(tree.path()), kernel.port());
  REQUIRE(perf);
  CHECK(perf->labels() == "package-0, package-1, dram-0, dram-1");
  EnergyReadings readings;
  CollectErrors errors;
  perf->read(readings, errors);
  CHECK_FALSE(readings[1].energy_uj.has_value());
  kernel.values[{2, 28}] = std::uint64_t{5} << 32;
  perf->read(readings, errors);
  CHECK(readings[1].energy_uj == 5'000'000U);
  CHECK(readings[1].socket == 1U);
  CHECK(readings[0].energy_uj == 0U);
  kernel.values[{2, 28}].reset();
  perf->read(readings, errors);
  CHECK_FALSE(readings[1].energy_uj.has_value());
  CHECK(errors.size() == 1);
  kernel.values[{2, 28}] = std::uint64_t{9} << 32;
  perf->read(readings, errors);
  CHECK_FALSE(readings[1].energy_uj.has_value());
  kernel.values[{2, 28}] = std::uint64_t{10} << 32;
  perf->read(readings, errors);
  CHECK(readings[1].energy_uj == 1'000'000U);
}

TEST_CASE("perf: a refusal names the capability, a captured tree has no counters, and a missing PMU is not found") {
  const Tree tree;
  const auto roots = Roots::below(tree.path());
  CHECK(PerfEnergy::open_(roots).error().code == Errc::not_found);
  power_pmu(tree);
  CHECK(PerfEnergy::open_(roots).error().code == Errc::unsupported);
  PmuCounters kernel;
  kernel.denied = true;
  const auto refused = PerfEnergy::open_(roots, kernel.port());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fix.find("CAP_PERFMON") != std::string::npos);
}

TEST_CASE("perf: a counter that stands still is omitted, and a PMU with only such counters does not count") {
  const Tree tree;
  power_pmu(tree);
  PmuCounters kernel;
  kernel.still = {3};
  auto perf = PerfEnergy::open_(Roots::below(tree.path()), kernel.port());
  REQUIRE(perf);
  CHECK(perf->labels() == "package-0, package-1");
  kernel.still = {2, 3};
  const auto none = PerfEnergy::open_(Roots::below(tree.path()), kernel.port());
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().what.find("does not count energy") != std::string::npos);
}

TEST_CASE("when powercap fails, perf takes over within the same interval, and returns after some good intervals") {
  const Tree tree;
  power_pmu(tree);
  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  const auto powercap = [&](std::uint64_t uj) {
    tree.put(zone + "name", "package-0\n");
    tree.put(zone + "max_energy_range_uj", "262143328850\n");
    tree.put(zone + "energy_uj", std::to_string(uj) + "\n");
  };
  powercap(0);
  PmuCounters kernel;
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  auto meter = EnergyMeter::open_(config, kernel.port());
  ManualClock clock;
  std::vector<char> scratch(4096);
  CollectErrors errors;
  std::uint64_t second = 0;
  const auto tick = [&]() -> const EnergyInterval& {
    ++second;
    clock.advance(1s);
    kernel.values[{2, 0}] = second * (std::uint64_t{3} << 32);
    kernel.values[{2, 28}] = second * (std::uint64_t{4} << 32);
    return meter.read(clock, 0.5, scratch, errors);
  };
  tick();
  powercap(5'000'000);
  CHECK(tick().energy_uj == 5'000'000U);
  tree.put(zone + "energy_uj", "");
  const auto& switched = tick();
  CHECK(switched.source == EnergySource::perf);
  CHECK(switched.energy_uj == 7'000'000U);
  std::uint64_t counted_uj = 90'000'000;
  const auto next = [&]() -> const EnergyInterval& {
    powercap(counted_uj += 5'000'000);
    return tick();
  };
  unsigned by_perf = 0;
  while (next().source == EnergySource::perf && by_perf < 100) ++by_perf;
  CHECK(by_perf == kReturnAfter);  // one reading to restart, then the good intervals, the last of which is rapl's
}
