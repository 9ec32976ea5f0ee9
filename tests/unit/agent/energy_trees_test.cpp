// Captured trees of energy files (tests/fixtures/agent/energy, each with its origin). Every counter rises by another
// power of two, so that the sum shows which of them were counted and that none was counted twice. A counter that would
// pass its range wraps.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "agent/collect/energy.hpp"
#include "tests/places.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
struct Counter {
  std::string path;
  std::uint64_t value = 0;
  std::uint64_t rise_uj = 0;
  std::uint64_t range_uj = 0;  // 0: 64 bits
  std::uint64_t later() const {
    const std::uint64_t risen = value + rise_uj;
    return range_uj != 0 && risen > range_uj ? risen - range_uj : risen;
  }
};

struct Machine {
  const char* tree;
  const char* labels;
  EnergySource source;
  std::vector<const char*> counted;
  const char* pools;  // socket (- for none): joules
};

const std::vector<Machine> kMachines{
    {"sapphire-rapids", "package-0 dram-0 psys", EnergySource::rapl, {"intel-rapl:1/energy_uj"}, "0:3 -:1"},
    {"laptop-mmio-psys", "package-0 core-0 uncore-0 psys", EnergySource::rapl, {"intel-rapl:1/energy_uj"}, "0:2 -:14"},
    {"laptop-package-core-uncore", "package-0 core-0 uncore-0", EnergySource::rapl, {"intel-rapl:0/energy_uj"}, "0:1"},
    {"amd-dies", "package-0", EnergySource::rapl, {"intel-rapl:0/energy_uj"}, "0:1"},
    {"cascade-lake-ap",
     "package-0-die-0 package-0-die-1 dram-0-die-0 dram-0-die-1",
     EnergySource::rapl,
     {"intel-rapl:0/energy_uj", "intel-rapl:0:0/energy_uj", "intel-rapl:1/energy_uj", "intel-rapl:1:0/energy_uj"},
     "0:15"},
    {"amd-energy", "package-0", EnergySource::hwmon, {"energy33_input"}, "0:4"},
    {"xeon-four-sockets-reversed",
     "package-3 package-2 package-1 package-0 dram-3 dram-2 dram-1 dram-0",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:0:0/energy_uj", "rapl:1/energy_uj", "rapl:1:0/energy_uj", "rapl:2/energy_uj",
      "rapl:2:0/energy_uj", "rapl:3/energy_uj", "rapl:3:0/energy_uj"},
     "3:3 2:12 1:48 0:192"},
    {"xeon-two-sockets-reversed",
     "package-1 package-0",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:1/energy_uj"},
     "1:1 0:2"},
    {"xeon-four-sockets-core",
     "package-0 package-1 core-0 core-1 dram-0 dram-1",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:0:1/energy_uj", "rapl:1/energy_uj", "rapl:1:1/energy_uj"},
     "0:5 1:40"},
    {"alder-lake", "package-0 core-0 uncore-0", EnergySource::rapl, {"rapl:0/energy_uj"}, "0:1"},
    {"apollo-lake",
     "package-0 core-0 uncore-0 dram-0",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:0:2/energy_uj"},
     "0:9"},
    {"haswell",
     "package-0 core-0 uncore-0 dram-0",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:0:2/energy_uj"},
     "0:9"},
    {"tiger-lake-mmio", "package-0 core-0", EnergySource::rapl, {"intel-rapl:0/energy_uj"}, "0:2"},
    {"zen-package-core", "package-0 core-0", EnergySource::rapl, {"rapl:0/energy_uj"}, "0:1"},
    {"epyc-host", "package-0", EnergySource::rapl, {"rapl:0/energy_uj"}, "0:1"},
    {"hexadecimal-zone",
     "package-0 package-10 core-0",
     EnergySource::rapl,
     {"rapl:0/energy_uj", "rapl:a/energy_uj"},
     "0:1 10:4"},
};

std::vector<Counter> lay_out(const Tree& tree, const std::string& name) {
  std::ifstream file(tests::source_dir() + "/tests/fixtures/agent/energy/" + name + ".txt");
  std::vector<Counter> counters;
  std::uint64_t range_uj = 0;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    const auto space = line.find(' ');
    REQUIRE(space != std::string::npos);
    const std::string path = line.substr(0, space), text = line.substr(space + 1);
    tree.put(path, text + "\n");
    if (path.ends_with("/max_energy_range_uj")) range_uj = std::stoull(text);  // precedes its counter
    if (path.ends_with("energy_uj") || path.ends_with("_input"))
      counters.push_back(
          {path, std::stoull(text), std::uint64_t{1'000'000} << counters.size(), std::exchange(range_uj, 0)});
  }
  REQUIRE(file.eof());
  return counters;
}

struct Outcome {
  std::string labels;
  EnergySource source = EnergySource::none;
  std::uint64_t energy_uj = 0;
  std::string pools;
  CollectErrors errors;
};

Outcome report(const Tree& tree, const std::vector<Counter>& counters) {
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  auto meter = EnergyMeter::open_(config);
  ManualClock clock;
  std::vector<char> scratch(4096);
  CollectErrors errors;
  meter.read(clock, 0.5, scratch, errors);
  for (const auto& counter : counters) tree.put(counter.path, std::to_string(counter.later()) + "\n");
  clock.advance(1s);
  const auto& interval = meter.read(clock, 0.5, scratch, errors);
  CHECK_FALSE(interval.gap);
  Outcome reported{{}, interval.source, interval.energy_uj.value_or(0), {}, std::move(errors)};
  for (const auto& domain : interval.domains) reported.labels += (reported.labels.empty() ? "" : " ") + domain.name;
  for (const auto& pool : interval.pools)
    reported.pools += (reported.pools.empty() ? "" : " ") + (pool.package ? std::to_string(*pool.package) : "-") + ":" +
                      std::to_string(pool.energy_uj / 1'000'000);
  return reported;
}

// The total rise of the counters that count.
std::uint64_t rise_of(const Machine& machine, const std::vector<Counter>& counters) {
  std::uint64_t sum_uj = 0;
  for (const auto& counter : counters)
    for (const char* counted : machine.counted)
      if (counter.path.ends_with(counted)) sum_uj += counter.rise_uj;
  return sum_uj;
}
}  // namespace

TEST_CASE("each machine's tree gives the right domains from the right source, and nothing is counted twice") {
  for (const auto& machine : kMachines) {
    CAPTURE(machine.tree);
    const Tree tree;
    const auto counters = lay_out(tree, machine.tree);
    const auto reported = report(tree, counters);
    CHECK(reported.errors.empty());
    CHECK(reported.labels == machine.labels);
    CHECK(reported.source == machine.source);
    CHECK(reported.energy_uj == rise_of(machine, counters));
    CHECK(reported.pools == machine.pools);
  }
}

TEST_CASE("on each machine every zone wraps at its own range, and the interval keeps its energy") {
  for (const auto& machine : kMachines) {
    CAPTURE(machine.tree);
    const Tree tree;
    auto counters = lay_out(tree, machine.tree);
    for (auto& counter : counters) {
      if (counter.range_uj == 0) continue;
      counter.value = counter.range_uj - counter.rise_uj / 4;
      REQUIRE(counter.later() < counter.value);
      tree.put(counter.path, std::to_string(counter.value) + "\n");
    }
    CHECK(report(tree, counters).energy_uj == rise_of(machine, counters));
  }
}

TEST_CASE("a whole-system meter is reported beside the packages, and is the sum only if no source has packages") {
  const Tree both, alone, dead;
  const auto beside = report(both, lay_out(both, "acpi-meter-two-sockets"));
  CHECK(beside.errors.empty());
  CHECK(beside.labels == "package-1 package-0 system");
  CHECK(beside.source == EnergySource::rapl);
  CHECK(beside.energy_uj == 3'000'000);
  CHECK(beside.pools == "1:1 0:2");

  const auto sum = report(alone, lay_out(alone, "acpi-meter-alone"));
  CHECK(sum.errors.empty());
  CHECK(sum.labels == "system");
  CHECK(sum.source == EnergySource::hwmon);
  CHECK(sum.energy_uj == 130'000'000);
  CHECK(sum.pools == "-:130");

  const auto none = report(dead, lay_out(dead, "acpi-meter-dead"));
  CHECK_FALSE(none.errors.empty());
  CHECK(none.source == EnergySource::estimated);
  CHECK(none.labels == "estimated");
}
