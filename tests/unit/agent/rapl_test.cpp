#include "agent/collect/rapl.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr std::uint64_t kRaplRange = 262143328850;

void zone(const Tree& tree, const std::string& id, const std::string& name, std::uint64_t uj,
          std::uint64_t range = kRaplRange) {
  const std::string at = "sys/class/powercap/" + id + "/";
  if (!name.empty()) tree.put(at + "name", name + "\n");
  tree.put(at + "energy_uj", std::to_string(uj) + "\n");
  tree.put(at + "max_energy_range_uj", std::to_string(range) + "\n");
}

struct RaplReader {
  explicit RaplReader(const Tree& tree) {
    auto opened = Rapl::open_(Roots::below(tree.path()));
    REQUIRE(opened);
    rapl.emplace(std::move(*opened));
  }
  void read(Duration later) {
    clock.advance(later);
    errors.clear();
    rapl->read(readings, raw_uj, clock, scratch, errors);
  }
  // 0 means no such domain or no energy: the readings below are never 0.
  std::uint64_t energy_uj(const std::string& label) const {
    for (const auto& domain : readings)
      if (domain.label == label) return domain.energy_uj.value_or(0);
    return 0;
  }
  bool reported() const {
    return std::any_of(readings.begin(), readings.end(), [](const auto& domain) { return domain.energy_uj; });
  }
  std::optional<Rapl> rapl;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(256);
  EnergyReadings readings;
  std::vector<std::pair<std::string, std::uint64_t>> raw_uj;
  CollectErrors errors;
};
}  // namespace

TEST_CASE("energy corrects one counter wrap at the zone's own range") {
  const MonoTime t0{}, t1 = t0 + 1s;
  CHECK(*delta_energy({t0, 100}, {t1, 350}, 1'000'000'000'000, 1000) == ZoneEnergy{250, false});
  CHECK(*delta_energy({t0, kRaplRange - 10}, {t1, 5}, kRaplRange, 1000) == ZoneEnergy{15, false});
  CHECK(delta_energy({t0, 65712999613 - 10}, {t1, 5}, 65712999613, 1000)->energy_uj == 15);
}

TEST_CASE("an interval in which the counter may have wrapped twice is marked as a gap, not guessed") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 1}, {t0 + 200s, 2}, kRaplRange, 1000)->gap);  // 262 s at 1000 W
  CHECK(delta_energy({t0, 1}, {t0 + 263s, 2}, kRaplRange, 1000)->gap);
}

TEST_CASE("impossible readings are absent") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 1}, {t0, 2}, kRaplRange, 1000).has_value());
  CHECK_FALSE(delta_energy({t0, 1}, {t0 + 1s, kRaplRange + 1}, kRaplRange, 1000).has_value());
}

TEST_CASE("a restarted counter is not a wrap: impossible energy is absent, and the next interval counts again") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 100'000'000}, {t0 + 1s, 5}, kRaplRange, 1000).has_value());
  CHECK(delta_energy({t0 + 1s, 5}, {t0 + 2s, 80'000'005}, kRaplRange, 1000)->energy_uj == 80'000'000);
  CHECK(delta_energy({t0, kRaplRange - 400'000'000}, {t0 + 1s, 5}, kRaplRange, 1000)->energy_uj == 400'000'005);
}

TEST_CASE("any sequence of readings adds up to the energy of the counter") {
  CHECK(rc::check([] {
    const auto range = *rc::gen::inRange<std::uint64_t>(1'000'000, kRaplRange);
    std::uint64_t counter = *rc::gen::inRange<std::uint64_t>(0, range), reported = 0, spent = 0;
    for (int i = 0; i < 50; ++i) {
      const auto used = *rc::gen::inRange<std::uint64_t>(0, range);
      const auto next = used <= range - counter ? counter + used : used - (range - counter);
      reported += delta_energy({MonoTime{}, counter}, {MonoTime{} + 1s, next}, range, 1e6)->energy_uj;
      spent += used;
      counter = next;
    }
    RC_ASSERT(reported == spent);
  }));
}

TEST_CASE("two sockets: subzones have their package's socket, twins count once, and nameless zones do not count") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 1'000'000);
  zone(tree, "intel-rapl:0:0", "core", 100);
  zone(tree, "intel-rapl:0:1", "dram", 200, 65712999613);
  zone(tree, "intel-rapl:1", "package-1", 2'000'000);
  zone(tree, "intel-rapl:1:0", "core", 300);
  zone(tree, "intel-rapl:1:1", "dram", 400, 65712999613);
  zone(tree, "intel-rapl-mmio:0", "package-0", 1'000'077);
  zone(tree, "intel-rapl:a", "", 5);
  tree.put("sys/class/powercap/intel-rapl/enabled", "1\n");
  tree.put("sys/class/powercap/dtpm/enabled", "0\n");
  RaplReader reader(tree);
  CHECK(reader.rapl->zone_count() == 6);
  reader.read(0s);
  CHECK_FALSE(reader.reported());
  CHECK(reader.raw_uj.size() == 6);
  CHECK(reader.rapl->zone_labels() == "package-0, core-0, dram-0, package-1, core-1, dram-1");

  zone(tree, "intel-rapl:0", "package-0", 1'000'500);
  zone(tree, "intel-rapl:0:0", "core", 150);
  zone(tree, "intel-rapl:0:1", "dram", 220, 65712999613);
  zone(tree, "intel-rapl:1", "package-1", 2'000'700);
  zone(tree, "intel-rapl:1:0", "core", 307);
  zone(tree, "intel-rapl:1:1", "dram", 440, 65712999613);
  reader.read(1s);
  CHECK(reader.energy_uj("package-0") == 500);
  CHECK(reader.energy_uj("package-1") == 700);
  CHECK(reader.energy_uj("core-0") == 50);
  CHECK(reader.energy_uj("core-1") == 7);
  CHECK(reader.energy_uj("dram-1") == 40);
}

TEST_CASE("a zone's number is not its socket: psys may be intel-rapl:1, and a second one is psys-1") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 10);
  zone(tree, "intel-rapl:1", "psys", 20);
  zone(tree, "intel-rapl:2", "package-1", 30);
  zone(tree, "intel-rapl:2:0", "uncore", 40);
  zone(tree, "intel-rapl:3", "psys-1", 50);
  RaplReader reader(tree);
  reader.read(0s);
  CHECK(reader.rapl->zone_labels() == "package-0, psys, package-1, uncore-1, psys-1");
  CHECK(reader.readings[4].kind == EnergyKind::psys);
  CHECK(reader.readings[3].socket == 1U);
}

TEST_CASE("dies of one socket are separate packages") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0-die-0", 0);
  zone(tree, "intel-rapl:1", "package-0-die-1", 0);
  zone(tree, "intel-rapl:1:0", "dram", 0);
  RaplReader reader(tree);
  reader.read(0s);
  zone(tree, "intel-rapl:0", "package-0-die-0", 5);
  zone(tree, "intel-rapl:1", "package-0-die-1", 6);
  reader.read(1s);
  CHECK(reader.energy_uj("package-0-die-1") == 6);
  CHECK(reader.readings[2].label == "dram-0-die-1");
}

TEST_CASE("a twin alone is used, and a subzone of a nameless zone still counts") {
  const Tree tree;
  zone(tree, "intel-rapl-mmio:0", "package-0", 0);
  zone(tree, "intel-rapl:a", "", 0);
  zone(tree, "intel-rapl:a:0", "dram", 0);
  RaplReader reader(tree);
  CHECK(reader.rapl->zone_count() == 2);
}

TEST_CASE("a failed zone is absent for that interval and the next, and the others continue") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  zone(tree, "intel-rapl:1", "package-1", 100);
  RaplReader reader(tree);
  reader.read(0s);
  tree.put("sys/class/powercap/intel-rapl:1/energy_uj", "");
  zone(tree, "intel-rapl:0", "package-0", 200);
  reader.read(1s);
  CHECK(reader.errors.size() == 1);
  CHECK(reader.energy_uj("package-0") == 100);
  CHECK_FALSE(reader.readings[1].energy_uj.has_value());
  zone(tree, "intel-rapl:1", "package-1", 5'000);
  reader.read(1s);
  CHECK_FALSE(reader.readings[1].energy_uj.has_value());
  zone(tree, "intel-rapl:1", "package-1", 5'050);
  reader.read(1s);
  CHECK(reader.energy_uj("package-1") == 50);
}

TEST_CASE("a counter that cannot be read is opened again, and read once it works") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
  // Can be opened, but its reads fail as those of a lost device, because nothing is mapped at offset 0.
  std::filesystem::create_symlink("/proc/self/mem", tree.path() + "/sys/class/powercap/intel-rapl:0/energy_uj");
  RaplReader reader(tree);
  reader.read(0s);
  CHECK(reader.errors.size() == 1);
  tree.remove("sys/class/powercap/intel-rapl:0");
  zone(tree, "intel-rapl:0", "package-0", 7);
  reader.read(1s);
  CHECK(reader.errors.size() == 1);
  reader.read(1s);
  CHECK(reader.errors.empty());
  zone(tree, "intel-rapl:0", "package-0", 30);
  reader.read(1s);
  CHECK(reader.energy_uj("package-0") == 23);
}

TEST_CASE("zones that appear after the start are used within a minute, and removed ones are dropped") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  RaplReader reader(tree);
  reader.read(0s);
  zone(tree, "intel-rapl:1", "package-1", 500);
  zone(tree, "intel-rapl:1:0", "dram", 50);
  reader.read(1s);
  CHECK(reader.readings.size() == 1);
  reader.read(kLookAgain);
  CHECK(reader.rapl->zone_labels() == "package-0, package-1, dram-1");
  CHECK_FALSE(reader.readings[1].energy_uj.has_value());  // its first reading
  zone(tree, "intel-rapl:0", "package-0", 103);
  zone(tree, "intel-rapl:1", "package-1", 507);
  reader.read(1s);
  CHECK(reader.energy_uj("package-0") == 3);
  CHECK(reader.energy_uj("package-1") == 7);

  tree.remove("sys/class/powercap/intel-rapl:1");
  tree.remove("sys/class/powercap/intel-rapl:1:0");
  reader.read(kLookAgain);
  CHECK(reader.rapl->zone_labels() == "package-0");
  zone(tree, "intel-rapl:1", "package-1", 3);
  reader.read(kLookAgain);
  zone(tree, "intel-rapl:1", "package-1", 14);
  reader.read(1s);
  CHECK(reader.energy_uj("package-1") == 11);
}

TEST_CASE("AMD's dies show the counter of their socket, which counts once; Intel's dies have their own counters") {
  for (const bool amd : {true, false}) {
    const Tree tree;
    tree.put("proc/cpuinfo",
             std::string("processor\t: 0\nvendor_id\t: ") + (amd ? "AuthenticAMD" : "GenuineIntel") + "\n");
    zone(tree, "intel-rapl:0", "package-0-die-0", 10360237493, 65532610987);
    zone(tree, "intel-rapl:1", "package-0-die-1", 10359908363, 65532610987);
    zone(tree, "intel-rapl:2", "package-1-die-0", 5, 65532610987);
    RaplReader reader(tree);
    CHECK(reader.rapl->zone_labels() ==
          (amd ? "package-0, package-1" : "package-0-die-0, package-0-die-1, package-1-die-0"));
  }
}

TEST_CASE("a machine without powercap, or with zones that count nothing, is not found, with the reason") {
  const Tree bare;
  const auto none = Rapl::open_(Roots::below(bare.path()));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().subject.find("powercap") != std::string::npos);
  const Tree limits{{"sys/class/powercap/intel-rapl:0/name", "package-0\n"}};
  CHECK_FALSE(Rapl::open_(Roots::below(limits.path())));
}

TEST_CASE("a zone that cannot be counted is a domain without a value, so the others are not taken for the whole") {
  for (const char* how : {"no range", "range 0", "range text", "no counter"}) {
    CAPTURE(how);
    const Tree tree;
    const std::string at = "sys/class/powercap/intel-rapl:1/";
    zone(tree, "intel-rapl:0", "package-0", 100);
    zone(tree, "intel-rapl:1", "package-1", 100);
    if (how == std::string("no range")) tree.remove(at + "max_energy_range_uj");
    if (how == std::string("range 0")) tree.put(at + "max_energy_range_uj", "0\n");
    if (how == std::string("range text")) tree.put(at + "max_energy_range_uj", "much\n");
    if (how == std::string("no counter")) tree.remove(at + "energy_uj");
    RaplReader reader(tree);
    REQUIRE(reader.rapl->uncounted());
    CHECK(reader.rapl->uncounted()->subject.find(at + (how[0] == 'r' || how[3] == 'r' ? "max_energy" : "energy_uj")) !=
          std::string::npos);
    reader.read(0s);
    zone(tree, "intel-rapl:0", "package-0", 103);
    reader.read(1s);
    CHECK(reader.energy_uj("package-0") == 3);
    REQUIRE(reader.readings.size() == 2);
    CHECK(reader.readings[1].label == "package-1");
    CHECK_FALSE(reader.readings[1].energy_uj);
    CHECK(reader.readings[1].fault == EnergyFault::uncounted);

    zone(tree, "intel-rapl:1", "package-1", 500);  // the kernel provides it now
    reader.read(kLookAgain);
    CHECK_FALSE(reader.rapl->uncounted());
    zone(tree, "intel-rapl:1", "package-1", 507);
    reader.read(1s);
    CHECK(reader.energy_uj("package-1") == 7);
  }
}

TEST_CASE("a twin replaces a zone that cannot be counted") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  tree.remove("sys/class/powercap/intel-rapl:0/max_energy_range_uj");
  zone(tree, "intel-rapl-mmio:0", "package-0", 100);
  RaplReader reader(tree);
  CHECK_FALSE(reader.rapl->uncounted());
  reader.read(0s);
  zone(tree, "intel-rapl-mmio:0", "package-0", 109);
  reader.read(1s);
  CHECK(reader.readings.size() == 1);
  CHECK(reader.energy_uj("package-0") == 9);
}

TEST_CASE("zones of one control type with the same name are separate counters, and each is counted once") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  zone(tree, "intel-rapl:0:0", "dram", 10);
  zone(tree, "intel-rapl:1", "package-0", 200);
  zone(tree, "intel-rapl:1:0", "dram", 20);
  zone(tree, "intel-rapl-mmio:0", "package-0", 100);
  RaplReader reader(tree);
  CHECK(reader.rapl->zone_labels() == "package-0, dram-0, package-0@intel-rapl:1, dram-0@intel-rapl:1:0");
  reader.read(0s);
  reader.read(kLookAgain);
  CHECK(reader.rapl->zone_count() == 4);
  zone(tree, "intel-rapl:0", "package-0", 105);
  zone(tree, "intel-rapl:1", "package-0", 207);
  reader.read(1s);
  CHECK(reader.energy_uj("package-0") == 5);
  CHECK(reader.energy_uj("package-0@intel-rapl:1") == 7);
}

TEST_CASE("unknown zone names are kept, and garbage is refused") {
  CHECK(parse_zone_name("psys\n")->kind == EnergyKind::psys);
  CHECK(parse_zone_name("package-1-die-3")->label() == "package-1-die-3");
  CHECK(parse_zone_name("accelerator")->kind == EnergyKind::other);
  for (const char* garbage :
       {"", "psys-", "psys-x", "package-", "package-x", "package-0-die", "package-0-die-", "package-0-foo-1"})
    CHECK_MESSAGE(!parse_zone_name(garbage).has_value(), garbage);
  CHECK(parent_zone("intel-rapl:0:1") == "intel-rapl:0");
  CHECK(parent_zone("intel-rapl:0").empty());
}
