#include "agent/collect/energy_check.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "agent/collect/energy.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr std::uint64_t kZoneRangeUj = 262143328850;

DomainEnergy domain(EnergyKind kind, std::optional<std::uint64_t> energy_uj, unsigned socket = 0) {
  return {kind == EnergyKind::dram   ? "dram-0"
          : kind == EnergyKind::psys ? "system"
                                     : "package-" + std::to_string(socket),
          kind, kind == EnergyKind::psys ? std::nullopt : std::optional(socket), energy_uj};
}

// Judges readings of several sources over a number of intervals.
struct Judged {
  void judge(std::vector<std::pair<EnergySource, EnergyReadings>> now, Duration interval = 1s,
             std::optional<double> busy_core_s = 2.0) {
    readings = std::move(now);
    std::vector<EnergyCheck::Source> sources;
    for (auto& [source, of] : readings) sources.emplace_back(source, &of);
    errors.clear();
    check.judge(sources, interval, busy_core_s, 0s, errors);
  }
  const DomainEnergy& at(std::size_t source, std::size_t i = 0) const { return readings[source].second[i]; }
  EnergyCheck check;
  std::vector<std::pair<EnergySource, EnergyReadings>> readings;
  CollectErrors errors;
};

void put_zone(const Tree& tree, const std::string& id, const std::string& name, std::uint64_t uj) {
  const std::string at = "sys/class/powercap/" + id + "/";
  tree.put(at + "name", name + "\n");
  tree.put(at + "energy_uj", std::to_string(uj) + "\n");
  tree.put(at + "max_energy_range_uj", std::to_string(kZoneRangeUj) + "\n");
}

struct Node {
  explicit Node(const Tree& tree) : meter(EnergyMeter::open_(config(tree))) { read(0s); }
  static AgentConfig config(const Tree& tree) {
    tree.put("proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\ncpu1 1 0 1 1 0 0 0 0 0 0\n");
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    config.estimate.idle_w = 10;
    config.estimate.max_w = 30;
    config.estimate.curve = {0, 1};
    return config;
  }
  const EnergyInterval& read(Duration later, std::optional<double> utilisation_ratio = 0.5) {
    clock.advance(later);
    errors.clear();
    return meter.read(clock, utilisation_ratio, scratch, errors);
  }
  std::string finding(const std::string& source) const {
    for (const auto& one : meter.findings())
      if (one.source == source) return one.text();
    return "";
  }
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
  CollectErrors errors;
  EnergyMeter meter;
};
}  // namespace

TEST_CASE("a package that stands still while CPUs work is withheld for every source, and trusted again once it moves") {
  for (const auto source : {EnergySource::rapl, EnergySource::perf, EnergySource::pcm, EnergySource::hwmon}) {
    Judged one;
    one.judge({{source, {domain(EnergyKind::package, 0)}}});
    CHECK(one.at(0).energy_uj == 0U);
    CHECK(one.at(0).gap);  // a lower bound until it is known to stand still
    one.judge({{source, {domain(EnergyKind::package, 0)}}});
    CHECK_FALSE(one.at(0).energy_uj);
    CHECK(one.at(0).fault == EnergyFault::still);
    REQUIRE(one.errors.size() == 1);
    CHECK(one.errors[0].second.what.find("stands still") != std::string::npos);
    for (unsigned i = 1; i < kReturnAfter; ++i) {
      one.judge({{source, {domain(EnergyKind::package, 1'000'000)}}});
      CHECK_FALSE(one.at(0).energy_uj);
    }
    one.judge({{source, {domain(EnergyKind::package, 1'000'000)}}});
    CHECK(one.at(0).energy_uj == 1'000'000U);
    CHECK(one.errors.empty());
  }
}

TEST_CASE("an estimate by the table follows CPUs that come online and go offline; configured watts do not") {
  const Tree tree;
  AgentConfig config = Node::config(tree);
  for (const bool configured : {false, true}) {
    if (!configured)
      config.estimate = {};
    else
      config = Node::config(tree);
    EnergyMeter meter = EnergyMeter::open_(config);
    ManualClock clock;
    std::vector<char> scratch(4096);
    CollectErrors errors;
    const auto power_uw = [&](double cores) {
      meter.use_cores(cores);
      clock.advance(1s);
      return meter.read(clock, 1.0, scratch, errors).energy_uj.value_or(0);
    };
    power_uw(2);
    const std::uint64_t two_uw = power_uw(2);
    CHECK(two_uw > 0);
    CHECK(power_uw(8) == (configured ? two_uw : 4 * two_uw));
    CHECK(power_uw(1) == (configured ? two_uw : two_uw / 2));
    CHECK(power_uw(2) == two_uw);
  }
}

TEST_CASE("counters of an idle machine, of one-second steps and of a GPU that is off may stand still") {
  Judged idle;
  for (int i = 0; i < 100; ++i) idle.judge({{EnergySource::rapl, {domain(EnergyKind::package, 0)}}}, 1s, 0.0);
  CHECK(idle.at(0).energy_uj == 0U);
  CHECK_FALSE(idle.at(0).gap);
  Judged steps;
  std::uint64_t sum_uj = 0;
  for (int i = 0; i < 100; ++i) {
    steps.judge({{EnergySource::rapl, {domain(EnergyKind::package, i % 5 == 4 ? 7'000'000 : 0)}}}, 200ms, 0.4);
    sum_uj += steps.at(0).energy_uj.value_or(0);
  }
  CHECK(sum_uj == 140'000'000);
  Judged off;
  for (int i = 0; i < 10; ++i)
    off.judge({{EnergySource::rapl,
                {{"uncore-0", EnergyKind::uncore, 0U, 0U},
                 {"psys", EnergyKind::psys, std::nullopt, 0U},
                 domain(EnergyKind::package, 9'000'000)}}});
  CHECK(off.at(0, 0).energy_uj == 0U);
  CHECK(off.at(0, 1).energy_uj == 0U);
}

TEST_CASE("a platform counter that stands still is not the energy of a machine whose packages do not count") {
  for (const bool package : {true, false}) {
    const Tree tree;
    if (package) put_zone(tree, "intel-rapl:0", "package-0", 0);
    put_zone(tree, "intel-rapl:1", "psys", 0);
    Node node(tree);
    for (int i = 0; i < 20; ++i) {
      const auto& interval = node.read(1s, 0.9);
      CHECK((interval.gap || interval.source == EnergySource::estimated || i == 0));
    }
    const auto& last = node.read(1s, 0.9);
    CHECK(last.source == EnergySource::estimated);
    CHECK(last.gap);
    CHECK(last.energy_uj == 28'000'000U);
    CHECK(node.finding("rapl").find("stands still") != std::string::npos);
    std::uint64_t uj = 0;
    for (unsigned i = 0; i <= 2 * kReturnAfter; ++i) {  // in steps of two seconds
      if (i % 2 == 1) uj += 50'000'000;
      put_zone(tree, "intel-rapl:1", "psys", uj);
      node.read(1s, 0.9);
    }
    put_zone(tree, "intel-rapl:1", "psys", uj + 40'000'000);
    const auto& again = node.read(1s, 0.9);
    CHECK(again.source == EnergySource::rapl);
    CHECK(again.energy_uj == 40'000'000U);
  }
}

TEST_CASE("a power meter that shows one value whatever the CPUs do is withheld until the value changes") {
  const auto shows = [](Judged& one, std::uint64_t energy_uj, double busy_cores, int seconds) {
    for (int i = 0; i < seconds; ++i)
      one.judge({{EnergySource::hwmon, {domain(EnergyKind::psys, energy_uj)}}}, 1s, busy_cores);
    return one.at(0).energy_uj.has_value();
  };
  Judged frozen;
  CHECK(shows(frozen, 180'000'000, 0.1, 90));
  CHECK(shows(frozen, 180'000'000, 0.9, 29));
  CHECK_FALSE(shows(frozen, 180'000'000, 0.9, 1));
  CHECK(frozen.at(0).fault == EnergyFault::still);
  CHECK(frozen.errors.front().second.what.find("180.000 W for 120 s") != std::string::npos);
  CHECK(shows(frozen, 181'000'000, 0.9, 1));
  Judged steady;  // the load is steady, or changes for moments only
  for (int i = 0; i < 100; ++i) {
    CHECK(shows(steady, 180'000'000, 0.2, 5));
    CHECK(shows(steady, 180'000'000, 0.6, 1));
  }
  Judged counter;  // another source's steady power is not a meter's
  for (int i = 0; i < 300; ++i)
    counter.judge({{EnergySource::rapl, {domain(EnergyKind::package, 9'000'000)}}}, 1s, i < 150 ? 0.0 : 1.0);
  CHECK(counter.at(0).energy_uj == 9'000'000U);
}

TEST_CASE("energy above the power limit of a part does not count") {
  Judged one;
  one.judge({{EnergySource::perf, {domain(EnergyKind::package, 60'000'000'000)}},
             {EnergySource::hwmon, {domain(EnergyKind::psys, 15'000'000'000)}}});
  CHECK(one.at(0).fault == EnergyFault::jump);
  CHECK_FALSE(one.at(0).energy_uj);
  CHECK(one.at(1).energy_uj == 15'000'000'000U);  // a machine of 15 kW
  one.judge({{EnergySource::hwmon, {domain(EnergyKind::psys, 60'000'000'000)}}});
  CHECK(one.at(0).fault == EnergyFault::jump);
}

TEST_CASE("two grossly different sources are both withheld, and a third shows which is wrong") {
  const auto two = [](double one_w, double other_w) {
    Judged judged;
    for (int i = 0; i < 3; ++i)
      judged.judge({{EnergySource::rapl, {domain(EnergyKind::package, static_cast<std::uint64_t>(one_w * 1e6))}},
                    {EnergySource::hwmon, {domain(EnergyKind::package, static_cast<std::uint64_t>(other_w * 1e6))}}});
    CHECK(judged.at(0).energy_uj.has_value() == judged.at(1).energy_uj.has_value());
    return judged.at(0).energy_uj.has_value();
  };
  CHECK(two(60, 55));
  CHECK(two(60, 32));
  CHECK(two(4, 1));  // sources may differ by a few watts
  CHECK_FALSE(two(60, 20));
  CHECK_FALSE(two(20, 60));
  Judged three;
  for (int i = 0; i < 3; ++i)
    three.judge({{EnergySource::rapl, {domain(EnergyKind::package, 8'000'000)}},
                 {EnergySource::perf, {domain(EnergyKind::package, 60'000'000)}},
                 {EnergySource::hwmon, {domain(EnergyKind::package, 58'000'000)}}});
  CHECK_FALSE(three.at(0).energy_uj);
  CHECK(three.at(0).fault == EnergyFault::disagrees);
  CHECK(three.at(1).energy_uj == 60'000'000U);
  CHECK(three.at(2).energy_uj == 58'000'000U);
}

TEST_CASE("packages cannot draw more than the whole system") {
  Judged judged;
  for (int i = 0; i < 3; ++i)
    judged.judge(
        {{EnergySource::rapl, {domain(EnergyKind::package, 200'000'000), domain(EnergyKind::package, 200'000'000, 1)}},
         {EnergySource::hwmon, {domain(EnergyKind::psys, 250'000'000)}}});
  CHECK_FALSE(judged.at(0).energy_uj);
  CHECK_FALSE(judged.at(0, 1).energy_uj);
  CHECK_FALSE(judged.at(1).energy_uj);
  Judged fine;
  for (int i = 0; i < 9; ++i)
    fine.judge({{EnergySource::rapl, {domain(EnergyKind::package, 20'000'000)}},
                {EnergySource::hwmon, {domain(EnergyKind::psys, 450'000'000)}}});
  CHECK(fine.at(0).energy_uj == 20'000'000U);
  CHECK(fine.at(1).energy_uj == 450'000'000U);
}

TEST_CASE("a guest whose package stands still is estimated and reported as a gap, and the findings give the reason") {
  const Tree tree;
  put_zone(tree, "intel-rapl:0", "package-0", 0);
  put_zone(tree, "intel-rapl:0:0", "dram", 1'000'000);
  Node node(tree);
  CHECK(node.finding("energy").find("package by rapl") != std::string::npos);
  for (std::uint64_t i = 1; i <= 25; ++i) {
    put_zone(tree, "intel-rapl:0:0", "dram", 1'000'000 + i * 300'000);
    const auto& interval = node.read(200ms, 0.9);
    CHECK((interval.gap || interval.source == EnergySource::estimated));
  }
  const auto& last = node.read(200ms, 0.9);
  CHECK(last.source == EnergySource::estimated);
  CHECK(last.gap);
  CHECK(last.energy_uj == 5'600'000U);  // 28 W
  CHECK(node.errors.front().second.subject == "package-0");
  CHECK(node.finding("rapl").find("stands still") != std::string::npos);
  CHECK(node.finding("energy").find("package by") == std::string::npos);
  for (std::uint64_t i = 1; i <= kReturnAfter; ++i) {
    put_zone(tree, "intel-rapl:0", "package-0", i * 4'000'000);
    put_zone(tree, "intel-rapl:0:0", "dram", 10'000'000 + i * 300'000);
    node.read(200ms, 0.9);
  }
  CHECK(node.meter.findings().size() > 1);
  put_zone(tree, "intel-rapl:0", "package-0", 28'000'000);
  put_zone(tree, "intel-rapl:0:0", "dram", 12'000'000);
  const auto& again = node.read(200ms, 0.9);
  CHECK(again.source == EnergySource::rapl);
  CHECK_FALSE(again.gap);
  CHECK(node.finding("rapl").find("stands still") == std::string::npos);
}

TEST_CASE("a counter that runs backwards or jumps is a gap with its reason, and the estimate replaces it") {
  for (const std::uint64_t next : {std::uint64_t{99'000'000}, std::uint64_t{90'000'000'000}}) {
    const Tree tree;
    put_zone(tree, "intel-rapl:0", "package-0", 100'000'000);
    Node node(tree);
    put_zone(tree, "intel-rapl:0", "package-0", next);
    const auto& interval = node.read(1s);
    CHECK(interval.source == EnergySource::estimated);
    CHECK(interval.gap);
    CHECK(interval.energy_uj == 20'000'000U);
    REQUIRE(node.errors.size() == 1);
    CHECK(node.errors[0].second.what.find(next < 100'000'000 ? "backwards" : "jumps") != std::string::npos);
    put_zone(tree, "intel-rapl:0", "package-0", next + 5'000'000);
    const auto& after = node.read(1s);
    CHECK(after.source == EnergySource::rapl);
    CHECK(after.energy_uj == 5'000'000U);
    CHECK_FALSE(after.gap);
  }
}

TEST_CASE("a part with limits in its firmware cannot draw ten times as much") {
  const Tree tree;
  put_zone(tree, "intel-rapl:0", "package-0", 0);
  tree.put("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "15000000\n");
  tree.put("sys/class/powercap/intel-rapl:0/constraint_1_max_power_uw", "0\n");
  Node node(tree);
  put_zone(tree, "intel-rapl:0", "package-0", 250'000'000);
  CHECK_FALSE(node.read(1s).gap);  // one second by the clock
  put_zone(tree, "intel-rapl:0", "package-0", 650'000'000);
  CHECK(node.read(1s).gap);
}

TEST_CASE("for any reports no reading is raised, and a withheld one has its reason") {
  CHECK(rc::check([] {
    Judged judged;
    const auto ticks = *rc::gen::inRange(1, 30);
    for (int tick = 0; tick < ticks; ++tick) {
      const auto value = [] {
        return *rc::gen::oneOf(rc::gen::just<std::uint64_t>(0), rc::gen::inRange<std::uint64_t>(0, 4'000'000'000));
      };
      const std::uint64_t one = value(), other = value();
      judged.judge({{EnergySource::rapl, {domain(EnergyKind::package, one)}},
                    {EnergySource::hwmon, {domain(EnergyKind::package, other)}}},
                   std::chrono::milliseconds(*rc::gen::inRange(1, 3000)), 1.0);
      for (std::size_t i = 0; i < 2; ++i) {
        const DomainEnergy& now = judged.at(i);
        RC_ASSERT(now.energy_uj.has_value() == (now.fault == EnergyFault::none));
        if (now.energy_uj) RC_ASSERT(*now.energy_uj == (i == 0 ? one : other));
      }
      RC_ASSERT(judged.errors.empty() == (judged.at(0).energy_uj && judged.at(1).energy_uj));
    }
  }));
}
