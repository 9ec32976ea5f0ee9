#include "agent/accept.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;
using json = wattle::SortedJson;

namespace {

// A machine with 10 W idle; an integer load adds 20 W and a memory load 8 W. Its two meters may disagree.
struct AcceptMachine {
  Tree tree;
  ManualClock clock;
  std::uint64_t package_uj = 0, platform_uj = 0, busy_ticks = 0;
  std::array<std::uint64_t, 2> usage_us{};
  double platform_factor = 1.2;

  void write() {
    tree.put("proc/stat", "cpu  " + std::to_string(busy_ticks) + " 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");
    tree.put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
    tree.put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    zone("intel-rapl:0", "package-0", package_uj);
    zone("intel-rapl:1", "psys", platform_uj);
    put_usage("sys/fs/cgroup", usage_us[0] + usage_us[1]);
    for (std::size_t i = 0; i < 2; ++i)
      put_usage("sys/fs/cgroup/wattle-accept-" + std::string(kLoadNames[i]) + ".service", usage_us[i]);
  }
  void zone(const std::string& id, const std::string& name, std::uint64_t uj) const {
    tree.put("sys/class/powercap/" + id + "/name", name + "\n");
    tree.put("sys/class/powercap/" + id + "/energy_uj", std::to_string(uj));
    tree.put("sys/class/powercap/" + id + "/max_energy_range_uj", "262143328850");
  }
  void put_usage(const std::string& dir, std::uint64_t us) const {
    tree.put(dir + "/cpu.stat", "usage_usec " + std::to_string(us) + "\n");
  }
  void second(const std::array<bool, 2>& loads) {
    clock.advance(1s);
    const std::uint64_t uj = 10'000'000 + (loads[0] ? 20'000'000 : 0) + (loads[1] ? 8'000'000 : 0);
    package_uj += uj;
    platform_uj += static_cast<std::uint64_t>(static_cast<double>(uj) * platform_factor);
    for (std::size_t i = 0; i < 2; ++i) {
      usage_us[i] += loads[i] ? 1'000'000 : 0;
      busy_ticks += loads[i] ? 100 : 0;
    }
    write();
  }
  AcceptTally run(double own_cores = 0.002) {
    write();
    AgentConfig config;
    config.node = "secret-host";
    config.roots = Roots::below(tree.path());
    config.estimate.idle_w = 10;
    config.estimate.max_w = 40;
    auto sampler = Sampler::open_(config, clock, 0);
    REQUIRE(sampler);
    AcceptTally tally({{"rapl", true, true, "secret-path", ""}, {"pcm", false, true, "secret-path", ""}}, "A Processor",
                      "6.1.0");
    double own_s = 0;
    const auto take = [&](std::size_t phase) {
      const Sample sample = sampler->tick();  // evaluated before every_reading()
      tally.take(phase, sample, sampler->energy_meter().every_reading(), own_s);
    };
    take(0);
    for (std::size_t phase = 0; phase < kAcceptPhases.size(); ++phase)
      for (int i = 0; i < 10; ++i) {
        second(kAcceptPhases[phase].loads);
        own_s += own_cores;
        take(phase);
      }
    return tally;
  }
};

std::string verdict_of(const AcceptTally& tally, const std::string& words) {
  const json report = json::parse(tally.json());
  for (const json& one : report["verdicts"])
    if (one["what"].get<std::string>().find(words) != std::string::npos) return one["verdict"].get<std::string>();
  return "none";
}

}  // namespace

TEST_CASE("a machine with correct counters is accepted, with the watts of each phase") {
  AcceptMachine machine;
  const AcceptTally tally = machine.run();
  CHECK(tally.accepted());
  const json report = json::parse(tally.json());
  CHECK(report["accepted"] == true);
  CHECK(report["phases"].size() == kAcceptPhases.size());
  CHECK(report["phases"][0]["sources_w"]["rapl package"].get<double>() == doctest::Approx(10));
  CHECK(report["phases"][3]["sources_w"]["rapl package"].get<double>() == doctest::Approx(38));
  CHECK(report["phases"][1]["seconds"].get<double>() == doctest::Approx(10));
  CHECK(verdict_of(tally, "add up") == "good");
  CHECK(verdict_of(tally, "together") == "good");
  CHECK(verdict_of(tally, "'cpu'") == "good");
  CHECK(verdict_of(tally, "uses little CPU") == "good");
  for (const std::string& text : {tally.json(), tally.text()}) {
    CHECK(text.find("secret") == std::string::npos);
    CHECK(text.find('/') == std::string::npos);
  }
}

TEST_CASE("a platform counter below its packages' sum is reported") {
  AcceptMachine machine;
  machine.platform_factor = 0.5;
  const AcceptTally tally = machine.run();
  CHECK(verdict_of(tally, "more than its packages") == "bad");
  CHECK_FALSE(tally.accepted());
  CHECK(tally.text().find("NOT accepted") != std::string::npos);
}

TEST_CASE("an agent with a high cost is reported") {
  CHECK(verdict_of(AcceptMachine().run(0.5), "uses little CPU") == "bad");
}

TEST_CASE("shares that do not add up are reported, and so are unmeasured values") {
  AcceptTally tally({}, "A Processor", "6.1.0");
  tally.without_workloads("no cgroup");
  Sample sample;
  sample.record.interval_ns = 1'000'000'000;
  tally.take(0, sample, {}, 0);
  CHECK(tally.accepted());
  CHECK(verdict_of(tally, "add up") == "not seen");
  CHECK(verdict_of(tally, "together") == "not seen");
  CHECK(verdict_of(tally, "'memory'") == "not seen");
  sample.record.node.energy_uj = 10;
  sample.record.node.idle_energy_uj = 4;
  sample.record.node.unattributed_energy_uj = 5;
  tally.take(0, sample, {}, 0);
  CHECK(verdict_of(tally, "add up") == "bad");
}

TEST_CASE("two sources of the same domain are compared") {
  for (const std::uint64_t other_uj : {10'100'000U, 12'000'000U}) {
    AcceptTally tally({}, "A Processor", "6.1.0");
    Sample sample;
    sample.record.interval_ns = 1'000'000'000;
    tally.take(1, sample,
               {{EnergySource::rapl, {{"package-0", EnergyKind::package, 0, 10'000'000, false}}},
                {EnergySource::perf, {{"package-0", EnergyKind::package, 0, other_uj, false}}}},
               0);
    CHECK(verdict_of(tally, "perf package and rapl package") == (other_uj < 11'000'000 ? "good" : "bad"));
  }
}
