// A day of a machine with known energy: meter and attribution report that energy to the microjoule, except in intervals
// marked as a gap or an estimate.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "agent/attribute/attribute.hpp"
#include "agent/collect/energy.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::Tree;

namespace {
__extension__ using U128 = unsigned __int128;

struct Zone {
  const char* id;
  const char* name;
  std::uint64_t range_uj;  // ranges of a two-socket Xeon: packages and DRAM differ
  double max_w;
  std::uint64_t config;
  unsigned cpu;
  std::uint64_t true_uj = 0;
};

class DayMachine {
 public:
  explicit DayMachine(std::uint64_t seed) : random_(seed) {
    const std::string pmu = "sys/bus/event_source/devices/power/";
    tree_.put(pmu + "type", "13\n");
    tree_.put(pmu + "cpumask", "0,1\n");
    for (const auto& [event, config] :
         {std::pair{"energy-pkg", "event=0x02\n"}, std::pair{"energy-ram", "event=0x03\n"}}) {
      tree_.put(pmu + "events/" + event, config);
      tree_.put(pmu + "events/" + std::string(event) + ".scale", "2.3283064365386962890625e-10\n");
      tree_.put(pmu + "events/" + std::string(event) + ".unit", "Joules\n");
    }
    for (const char* cpu : {"0", "1"})
      tree_.put("sys/devices/system/cpu/cpu" + std::string(cpu) + "/topology/physical_package_id", cpu);
    for (auto& zone : zones_) {
      zone.true_uj = below(zone.range_uj);
      tree_.put(path(zone) + "name", zone.name);
      tree_.put(path(zone) + "max_energy_range_uj", std::to_string(zone.range_uj));
    }
    write();
  }

  std::uint64_t below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }
  bool chance(unsigned percent) { return below(100) < percent; }

  // Every zone draws random power, and sources fail and recover.
  void pass(Duration time) {
    clock.advance(time);
    for (auto& zone : zones_) {
      const double share = static_cast<double>(below(1001)) / 1000;
      zone.true_uj += static_cast<std::uint64_t>(share * zone.max_w * seconds(time) * 1e6);
    }
    if (broken_ && chance(50)) broken_.reset();
    if (chance(3)) broken_ = below(zones_.size());
    if (chance(perf_lives_ ? 2 : 20)) perf_lives_ = !perf_lives_;
    write();
  }
  std::uint64_t true_uj() const {
    std::uint64_t sum = 0;
    for (const auto& zone : zones_) sum += zone.true_uj;
    return sum;
  }
  EnergyMeter start_agent() {
    AgentConfig config;
    config.roots = Roots::below(tree_.path());
    PerfPort port;
    port.open = [this](std::uint32_t, std::uint64_t event, unsigned cpu) -> Result<Fd> {
      Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      counters_[fd.get()] = {event, cpu};
      return fd;
    };
    port.is_stuck = [](int) { return false; };
    port.read = [this](int fd) -> Result<std::uint64_t> {
      if (!perf_lives_) return fail(Errc::unavailable, "perf counter", "is at its end");
      const auto [event, cpu] = counters_.at(fd);
      for (const auto& zone : zones_) {
        if (zone.config != event || zone.cpu != cpu) continue;
        // The count that represents exactly this many microjoules.
        return static_cast<std::uint64_t>(((static_cast<U128>(zone.true_uj) << 32) + 999'999) / 1'000'000);
      }
      return fail(Errc::not_found, "perf counter", "no such event");
    };
    return EnergyMeter::open_(config, port);
  }

  ManualClock clock;

 private:
  static std::string path(const Zone& zone) { return "sys/class/powercap/" + std::string(zone.id) + "/"; }
  // Writes in place through open descriptors, because a day has many thousand writes.
  void write() {
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      if (!files_[i].valid())
        files_[i] = Fd(
            ::open((tree_.path() + "/" + path(zones_[i]) + "energy_uj").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      // The register counts from 0 to its range, and then from 0.
      std::string text = broken_ == i ? "EINVAL" : std::to_string(zones_[i].true_uj % zones_[i].range_uj);
      text.resize(20, ' ');
      CHECK(::pwrite(files_[i].get(), text.data(), text.size(), 0) == 20);
    }
  }

  Tree tree_;
  std::array<Fd, 4> files_;
  std::mt19937_64 random_;
  std::array<Zone, 4> zones_{{{"intel-rapl:0", "package-0", 262143328850, 300, 2, 0},
                              {"intel-rapl:0:0", "dram", 65712999613, 60, 3, 0},
                              {"intel-rapl:1", "package-1", 262143328850, 300, 2, 1},
                              {"intel-rapl:1:0", "dram", 65712999613, 60, 3, 1}}};
  std::optional<std::uint64_t> broken_;
  bool perf_lives_ = true;
  std::map<int, std::pair<std::uint64_t, unsigned>> counters_;
};

struct Day {
  std::uint64_t reported_uj = 0, true_of_reported_uj = 0;  // of intervals without a gap or an estimate
  unsigned sure = 0, gaps = 0, estimates = 0, restarts = 0, by_perf = 0;
  bool bounds_hold = true, adds_up = true;
};

Day live(std::uint64_t seed, Duration length, std::uint64_t longest_s, unsigned most_ticks = 100'000) {
  DayMachine machine(seed);
  Day day;
  Attributor attributor;
  std::vector<char> scratch(4096);
  CollectErrors errors;
  std::optional<EnergyMeter> agent;
  std::uint64_t before_uj = 0;
  for (unsigned tick = 0; tick < most_ticks && machine.clock.mono().time_since_epoch() < length; ++tick) {
    machine.pass(std::chrono::milliseconds(1 + machine.below(longest_s * 1000)));
    errors.clear();
    const bool starts = !agent || machine.chance(1);
    if (starts) {
      agent.emplace(machine.start_agent());
      ++day.restarts;
    }
    const auto& interval = agent->read(machine.clock, 0.5, scratch, errors);
    const std::uint64_t used_uj = machine.true_uj() - before_uj;
    before_uj = machine.true_uj();
    if (starts) {
      day.bounds_hold = day.bounds_hold && !interval.energy_uj;
      continue;
    }

    // Each tick has different workloads, created and ended within it.
    std::vector<std::array<std::uint64_t, 2>> by_package(machine.below(6));
    std::vector<CpuUse> roots;
    for (auto& one : by_package) {
      one = {machine.below(1'000'000), machine.below(1'000'000)};
      roots.push_back({one[0] + one[1], {}});
      if (machine.chance(70)) roots.back().by_package = one;
    }
    const std::array<std::uint64_t, 2> all{machine.below(6'000'000), machine.below(6'000'000)};
    const auto& parts = attributor.attribute(interval.pools, roots, {all[0] + all[1], all});
    const std::uint64_t sum = std::accumulate(parts.shares_uj.begin(), parts.shares_uj.end(), std::uint64_t{0}) +
                              parts.idle_uj + parts.unattributed_uj;
    day.adds_up = day.adds_up && sum == interval.energy_uj.value_or(0);
    if (interval.source == EnergySource::estimated) {
      ++day.estimates;
    } else if (interval.gap) {
      ++day.gaps;
      day.bounds_hold = day.bounds_hold && sum <= used_uj;
    } else {
      ++day.sure;
      if (interval.source == EnergySource::perf) ++day.by_perf;
      day.reported_uj += sum;
      day.true_of_reported_uj += used_uj;
    }
  }
  return day;
}
}  // namespace

TEST_CASE("over a day of wraps, restarts, failing zones and dying sources no joule is lost or invented") {
  const Day day = live(20240607, std::chrono::hours(24), 120);
  CHECK(day.reported_uj == day.true_of_reported_uj);
  CHECK(day.adds_up);
  CHECK(day.bounds_hold);
  CHECK(day.reported_uj > 10'000'000'000'000);  // the counters wrapped dozens of times
  CHECK(day.restarts > 5);
  CHECK(day.by_perf > 5);
  CHECK(day.estimates > 0);
  CHECK(day.sure > 5 * (day.gaps + day.estimates));
}

TEST_CASE("intervals in which a counter may have wrapped several times are reported as lower bounds, correctly") {
  const Day day = live(11, std::chrono::hours(24), 900);
  CHECK(day.gaps > 0);
  CHECK(day.reported_uj == day.true_of_reported_uj);
  CHECK(day.bounds_hold);
}

TEST_CASE("a day of a platform counter, a sensor that replaces powercap, and restarts: exact to the microjoule") {
  const Tree tree{{"sys/class/hwmon/hwmon0/name", "amd_energy"}, {"sys/class/hwmon/hwmon0/energy1_label", "Esocket0"}};
  const std::string rapl = "sys/class/powercap/intel-rapl:", sensor = "sys/class/hwmon/hwmon0/energy1_input";
  constexpr std::uint64_t kRange = 262143328850;
  for (const auto& [id, name] : {std::pair{"0", "package-0"}, std::pair{"1", "psys"}}) {
    tree.put(rapl + id + "/name", name);
    tree.put(rapl + id + "/max_energy_range_uj", std::to_string(kRange));
  }
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
  };
  ManualClock clock;
  std::uint64_t package_uj = below(kRange), platform_uj = package_uj + below(kRange);
  bool package_lives = true, platform_lives = true, sensor_lives = true;
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  std::optional<EnergyMeter> agent;
  std::vector<char> scratch(4096);
  CollectErrors errors;
  std::uint64_t reported_uj = 0, true_uj = 0, unmeasured_uj = 0;
  unsigned sure = 0, gaps = 0, estimates = 0, by_hwmon = 0, restarts = 0;
  bool bounds_hold = true;
  while (clock.mono().time_since_epoch() < std::chrono::hours(24)) {
    const Duration time = std::chrono::milliseconds(1 + below(40'000));
    clock.advance(time);
    const auto spent = static_cast<std::uint64_t>(static_cast<double>(below(300)) * seconds(time) * 1e6);
    const auto beyond = static_cast<std::uint64_t>(static_cast<double>(below(100)) * seconds(time) * 1e6);
    package_uj += spent;
    platform_uj += spent + beyond;
    for (bool* lives : {&package_lives, &platform_lives, &sensor_lives})
      if (below(100) < (*lives ? 2U : 30U)) *lives = !*lives;
    tree.put(rapl + "0/energy_uj", package_lives ? std::to_string(package_uj % kRange) : "");
    tree.put(rapl + "1/energy_uj", platform_lives ? std::to_string(platform_uj % kRange) : "");
    tree.put(sensor, sensor_lives ? std::to_string(package_uj) : "");
    errors.clear();
    const bool starts = !agent || below(100) == 0;
    if (starts) agent.emplace(EnergyMeter::open_(config));
    const auto& interval = agent->read(clock, 0.5, scratch, errors);
    if (starts) {  // energy across a restart is unmeasured, and not reported
      ++restarts;
      unmeasured_uj += spent + beyond;
      bounds_hold = bounds_hold && !interval.energy_uj && interval.domains.empty() && interval.pools.empty();
    } else if (interval.source == EnergySource::estimated) {
      ++estimates;
    } else if (interval.gap) {
      ++gaps;
      bounds_hold = bounds_hold && interval.energy_uj.value_or(0) <= spent + beyond;
    } else {
      ++sure;
      if (interval.source == EnergySource::hwmon) ++by_hwmon;
      reported_uj += interval.energy_uj.value_or(0);
      true_uj += spent + beyond;
    }
  }
  CHECK(reported_uj == true_uj);
  CHECK(bounds_hold);
  CHECK(sure > 5 * gaps);
  CHECK(gaps > 0);
  CHECK(estimates > 0);
  CHECK(by_hwmon > 5);
  CHECK(restarts > 5);
  CHECK(unmeasured_uj > 0);
}

TEST_CASE("no joule is lost or invented in any schedule") {
  CHECK(rc::check([] {
    const Day day =
        live(*rc::gen::arbitrary<std::uint64_t>(), std::chrono::minutes(30), *rc::gen::inRange<std::uint64_t>(1, 400));
    RC_ASSERT(day.reported_uj == day.true_of_reported_uj);
    RC_ASSERT(day.adds_up);
    RC_ASSERT(day.bounds_hold);
  }));
}
