#include "agent/collect/energy.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr std::uint64_t kRange = 262143328850;

void zone(const Tree& tree, const std::string& id, const std::string& name, std::uint64_t uj) {
  const std::string at = "sys/class/powercap/" + id + "/";
  tree.put(at + "name", name + "\n");
  tree.put(at + "energy_uj", std::to_string(uj) + "\n");
  tree.put(at + "max_energy_range_uj", std::to_string(kRange) + "\n");
}

AgentConfig energy_config(const Tree& tree) {
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  config.estimate.idle_w = 10;
  config.estimate.max_w = 30;
  config.estimate.curve = {0, 1};
  return config;
}

struct Metered {
  explicit Metered(const Tree& tree) : Metered(tree, energy_config(tree)) {}
  Metered(const Tree&, const AgentConfig& config) : meter(EnergyMeter::open_(config)) { read(0s); }
  const EnergyInterval& read(Duration later, std::optional<double> utilisation_ratio = 0.5) {
    clock.advance(later);
    errors.clear();
    return meter.read(clock, utilisation_ratio, scratch, errors);
  }
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
  CollectErrors errors;
  EnergyMeter meter;
};

std::uint64_t pools_uj(const EnergyInterval& interval) {
  std::uint64_t sum = 0;
  for (const auto& pool : interval.pools) sum += pool.energy_uj;
  return sum;
}
}  // namespace

TEST_CASE("packages and their DRAM are the sum, core and uncore are parts of them, and each socket is a pool") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 1000);
  zone(tree, "intel-rapl:0:0", "core", 1000);
  zone(tree, "intel-rapl:0:1", "dram", 1000);
  zone(tree, "intel-rapl:1", "package-1", 1000);
  zone(tree, "intel-rapl:1:0", "dram", 1000);
  Metered node(tree);
  zone(tree, "intel-rapl:0", "package-0", 1500);
  zone(tree, "intel-rapl:0:0", "core", 1400);
  zone(tree, "intel-rapl:0:1", "dram", 1020);
  zone(tree, "intel-rapl:1", "package-1", 1700);
  zone(tree, "intel-rapl:1:0", "dram", 1040);
  const auto& interval = node.read(1s);
  CHECK(interval.source == EnergySource::rapl);
  CHECK(interval.energy_uj == 1260U);
  CHECK_FALSE(interval.gap);
  CHECK(interval.domains.size() == 5);
  REQUIRE(interval.pools.size() == 2);
  CHECK(interval.pools[0].package == 0U);
  CHECK(interval.pools[0].energy_uj == 520);
  CHECK(interval.pools[1].package == 1U);
  CHECK(interval.pools[1].energy_uj == 740);
}

TEST_CASE("dies of one socket share its pool") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0-die-0", 0);
  zone(tree, "intel-rapl:1", "package-0-die-1", 0);
  Metered node(tree);
  zone(tree, "intel-rapl:0", "package-0-die-0", 5);
  zone(tree, "intel-rapl:1", "package-0-die-1", 6);
  const auto& interval = node.read(1s);
  REQUIRE(interval.pools.size() == 1);
  CHECK(interval.energy_uj == 11U);
}

TEST_CASE("platform energy beyond the packages is a pool of its own; a platform counter at zero adds nothing") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 10);
  zone(tree, "intel-rapl:1", "psys", 20);
  Metered node(tree);
  zone(tree, "intel-rapl:0", "package-0", 110);
  zone(tree, "intel-rapl:1", "psys", 420);
  CHECK(node.read(1s).energy_uj == 400U);
  CHECK(pools_uj(node.read(0s)) == 0);  // no time has passed
  zone(tree, "intel-rapl:0", "package-0", 210);
  CHECK(node.read(1s).energy_uj == 100U);
}

TEST_CASE("a platform counter in steps of a joule adds up to its count, never to more") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 0);
  zone(tree, "intel-rapl:1", "psys", 0);
  Metered node(tree);
  std::uint64_t total_uj = 0;
  for (std::uint64_t tick = 1; tick <= 10; ++tick) {  // 700 mJ and 800 mJ per tick
    zone(tree, "intel-rapl:0", "package-0", tick * 700'000);
    zone(tree, "intel-rapl:1", "psys", tick * 800'000 / 1'000'000 * 1'000'000);
    total_uj += *node.read(1s).energy_uj;
  }
  CHECK(total_uj == 8'000'000);
}

TEST_CASE("platform zones of several packages cannot be matched to them, so the packages are the sum") {
  const Tree tree;
  for (const char* id : {"0", "1"}) zone(tree, std::string("intel-rapl:") + id, std::string("package-") + id, 0);
  zone(tree, "intel-rapl:2", "psys", 0);
  zone(tree, "intel-rapl:3", "psys-1", 0);
  Metered node(tree);
  for (const char* id : {"0", "1"}) zone(tree, std::string("intel-rapl:") + id, std::string("package-") + id, 100);
  zone(tree, "intel-rapl:2", "psys", 900);
  CHECK(node.read(1s).energy_uj == 200U);
}

TEST_CASE("an interval without a reading of all packages is estimated and marked, and the meter recovers by itself") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  zone(tree, "intel-rapl:1", "package-1", 100);
  Metered node(tree);
  tree.put("sys/class/powercap/intel-rapl:1/energy_uj", "");
  zone(tree, "intel-rapl:0", "package-0", 200);
  const auto& lost = node.read(1s);
  CHECK(lost.source == EnergySource::estimated);
  CHECK(lost.energy_uj == 20'000'000U);
  CHECK(node.errors.size() == 1);
  zone(tree, "intel-rapl:1", "package-1", 300);
  CHECK(node.read(1s).source == EnergySource::estimated);
  zone(tree, "intel-rapl:1", "package-1", 301);
  zone(tree, "intel-rapl:0", "package-0", 202);
  const auto& back = node.read(1s);
  CHECK(back.source == EnergySource::rapl);
  CHECK(back.energy_uj == 3U);
}

TEST_CASE("powercap zones that appear after the start are found within a minute") {
  const Tree tree;
  Metered node(tree);
  CHECK(node.read(1s).source == EnergySource::estimated);
  zone(tree, "intel-rapl:0", "package-0", 100);
  CHECK(node.read(kLookAgain).source == EnergySource::estimated);
  zone(tree, "intel-rapl:0", "package-0", 142);
  const auto& found = node.read(1s);
  CHECK(found.source == EnergySource::rapl);
  CHECK(found.energy_uj == 42U);
}

TEST_CASE("when PCM takes over or ends, earlier seconds may be missing or counted twice: the interval is a gap") {
  using S = EnergySource;
  for (const auto other :
       {std::optional<S>{}, std::optional(S::rapl), std::optional(S::perf), std::optional(S::hwmon)}) {
    CHECK_FALSE(meets(other, S::pcm));
    CHECK_FALSE(meets(S::pcm, other));
    CHECK(meets(other, S::rapl));
    CHECK(meets(S::rapl, other));
  }
  CHECK(meets(S::pcm, S::pcm));

  const Log log("test", LogLevel::off, LogFormat::text);
  std::atomic<int> second{0};
  auto server = http::Server::start(
      {},
      {{"GET /persecond",
        [&](const http::Request&) {
          return http::Response{
              200, "application/json",
              R"({"Interval us":1000000,"Number":)" + std::to_string(++second) +
                  R"(,"Sockets":[{"Socket ID":0,"Uncore":{"Uncore Counters":{"Package Joules Consumed":5}}}]})"};
        }}},
      log);
  REQUIRE(server);
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 0);
  AgentConfig config = energy_config(tree);
  config.pcm = PcmEndpoint{"127.0.0.1", server->port()};
  Metered node(tree, config);
  std::uint64_t counter = 0;
  const auto tick = [&](bool rapl_lives) {
    if (rapl_lives)
      zone(tree, "intel-rapl:0", "package-0", ++counter);
    else
      tree.put("sys/class/powercap/intel-rapl:0/energy_uj", "");
    return node.read(1ms);
  };
  CHECK_FALSE(tick(true).gap);
  const int seen = second;
  REQUIRE(tests::wait_until([&] { return second >= seen + 2; }));  // at least one has been counted
  const auto first = tick(false);
  REQUIRE(first.source == EnergySource::pcm);
  CHECK(first.gap);
  CHECK_FALSE(tick(false).gap);
  unsigned gaps = 0;
  for (unsigned i = 0; i <= kReturnAfter; ++i) gaps += tick(true).gap ? 1U : 0U;
  CHECK(gaps == 1);
  CHECK(tick(true).source == EnergySource::rapl);
}

TEST_CASE("without a counter or known utilisation, energy is absent and reported as a gap") {
  const Tree tree;
  Metered node(tree);
  const auto& interval = node.read(1s, std::nullopt);
  CHECK_FALSE(interval.energy_uj.has_value());
  CHECK(interval.gap);
  CHECK(interval.pools.empty());
}

TEST_CASE("a known DRAM domain that was not read makes the sum a lower bound") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 0);
  zone(tree, "intel-rapl:0:0", "dram", 0);
  Metered node(tree);
  zone(tree, "intel-rapl:0", "package-0", 9);
  tree.put("sys/class/powercap/intel-rapl:0:0/energy_uj", "");
  const auto& interval = node.read(1s);
  CHECK(interval.energy_uj == 9U);
  CHECK(interval.gap);
}

TEST_CASE("a configured idle power applies to the machine and counts once, whatever the pools") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 0);
  zone(tree, "intel-rapl:1", "package-1", 0);
  Metered node(tree);
  zone(tree, "intel-rapl:0", "package-0", 15'000'000);
  zone(tree, "intel-rapl:1", "package-1", 5'000'001);
  const auto& interval = node.read(1s);
  CHECK(interval.pools[0].idle_uj + interval.pools[1].idle_uj == 10'000'000);
}

TEST_CASE("the best source is used at once, the next when it fails, and the best again after some good intervals") {
  EnergyChoice choice;
  const auto choose = [&](bool first, bool second) {
    const std::array<bool, 2> complete{first, second};
    return choice.choose(complete, complete);
  };
  CHECK_FALSE(choose(false, false).has_value());
  CHECK(choose(true, true) == 0U);
  CHECK(choose(false, true) == 1U);
  for (unsigned i = 1; i < kReturnAfter; ++i) CHECK(choose(true, true) == 1U);
  CHECK(choose(true, true) == 0U);
  CHECK(choose(true, false) == 0U);
  CHECK_FALSE(choose(false, false).has_value());
}

TEST_CASE("a lower bound is replaced by a source without doubt, for that interval only") {
  EnergyChoice choice;
  const std::array<bool, 2> complete{true, true}, sure{true, true}, wrapped{false, true};
  CHECK(choice.choose(complete, sure) == 0U);
  CHECK(choice.choose(complete, wrapped) == 1U);
  CHECK(choice.choose(complete, sure) == 0U);
  const std::array<bool, 2> alone{true, false}, none{false, false};
  CHECK(choice.choose(alone, none) == 0U);
}
