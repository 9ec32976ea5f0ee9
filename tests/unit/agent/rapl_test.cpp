#include "agent/collect/rapl.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr std::uint64_t kRange = 262143328850;

void zone(const Tree& tree, const std::string& id, const std::string& name, std::uint64_t uj,
          std::uint64_t range = kRange) {
  const std::string at = "sys/class/powercap/" + id + "/";
  if (!name.empty()) tree.put(at + "name", name + "\n");
  tree.put(at + "energy_uj", std::to_string(uj) + "\n");
  tree.put(at + "max_energy_range_uj", std::to_string(range) + "\n");
}

struct Reader {
  explicit Reader(const Tree& tree) {
    auto opened = Rapl::open_(Roots::below(tree.path()));
    REQUIRE(opened);
    rapl.emplace(std::move(*opened));
  }
  const RaplReading& read(Duration later) {
    clock.advance(later);
    errors.clear();
    rapl->read(reading, clock, scratch, errors);
    return reading;
  }
  std::optional<EnergyDomain> domain(const std::string& name) const {
    const auto found =
        std::find_if(reading.domains.begin(), reading.domains.end(), [&](const auto& d) { return d.name == name; });
    return found == reading.domains.end() ? std::nullopt : std::optional(*found);
  }
  std::optional<Rapl> rapl;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(256);
  RaplReading reading;
  std::vector<std::pair<std::string, Error>> errors;
};
}  // namespace

TEST_CASE("energy corrects one counter wrap at the zone's own range") {
  const MonoTime t0{}, t1 = t0 + 1s;
  CHECK(*delta_energy({t0, 100}, {t1, 350}, 1'000'000'000'000, 1000) == ZoneEnergy{250, false});
  CHECK(*delta_energy({t0, kRange - 10}, {t1, 5}, kRange, 1000) == ZoneEnergy{15, false});
  CHECK(delta_energy({t0, 65712999613 - 10}, {t1, 5}, 65712999613, 1000)->energy_uj == 15);
}

TEST_CASE("an interval in which the counter may have wrapped twice is marked as a gap, not guessed") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 1}, {t0 + 200s, 2}, kRange, 1000)->gap);  // 262 s at 1000 W
  CHECK(delta_energy({t0, 1}, {t0 + 263s, 2}, kRange, 1000)->gap);
}

TEST_CASE("readings that cannot be are absent") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 1}, {t0, 2}, kRange, 1000).has_value());
  CHECK_FALSE(delta_energy({t0, 1}, {t0 + 1s, kRange + 1}, kRange, 1000).has_value());
}

TEST_CASE("a counter that began anew is no wrap: what no zone can draw is absent, and the next interval counts again") {
  const MonoTime t0{};
  CHECK_FALSE(delta_energy({t0, 100'000'000}, {t0 + 1s, 5}, kRange, 1000).has_value());
  CHECK(delta_energy({t0 + 1s, 5}, {t0 + 2s, 80'000'005}, kRange, 1000)->energy_uj == 80'000'000);
  CHECK(delta_energy({t0, kRange - 400'000'000}, {t0 + 1s, 5}, kRange, 1000)->energy_uj == 400'000'005);
}

TEST_CASE("any sequence of readings adds up to the energy that went through the counter") {
  CHECK(rc::check([] {
    const auto range = *rc::gen::inRange<std::uint64_t>(1'000'000, kRange);
    std::uint64_t counter = *rc::gen::inRange<std::uint64_t>(0, range), told = 0, spent = 0;
    for (int i = 0; i < 50; ++i) {
      const auto used = *rc::gen::inRange<std::uint64_t>(0, range);
      const auto next = used <= range - counter ? counter + used : used - (range - counter);
      told += delta_energy({MonoTime{}, counter}, {MonoTime{} + 1s, next}, range, 1e6)->energy_uj;
      spent += used;
      counter = next;
    }
    RC_ASSERT(told == spent);
  }));
}

TEST_CASE("two sockets: subzones take their package's socket, twins count once, nameless zones not at all") {
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
  Reader reader(tree);
  CHECK(reader.rapl->zone_count() == 6);
  CHECK(reader.read(0s).domains.empty());
  CHECK_FALSE(reader.reading.total.has_value());
  CHECK(reader.reading.raw_uj.size() == 6);

  zone(tree, "intel-rapl:0", "package-0", 1'000'500);
  zone(tree, "intel-rapl:0:0", "core", 150);
  zone(tree, "intel-rapl:0:1", "dram", 220, 65712999613);
  zone(tree, "intel-rapl:1", "package-1", 2'000'700);
  zone(tree, "intel-rapl:1:1", "dram", 440, 65712999613);
  reader.read(1s);
  CHECK(reader.domain("package-0")->energy_uj == 500);
  CHECK(reader.domain("package-1")->energy_uj == 700);
  CHECK(reader.domain("core-0")->energy_uj == 50);
  CHECK(reader.domain("core-1")->energy_uj == 0);
  CHECK(reader.domain("dram-1")->energy_uj == 40);
  REQUIRE(reader.reading.total);
  CHECK(reader.reading.total->energy_uj == 500 + 700 + 20 + 40);  // cores are within packages
}

TEST_CASE("a zone's number is not its socket: psys may be intel-rapl:1, and holds the packages") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 10);
  zone(tree, "intel-rapl:1", "psys", 20);
  zone(tree, "intel-rapl:2", "package-1", 30);
  zone(tree, "intel-rapl:2:0", "uncore", 40);
  Reader reader(tree);
  reader.read(0s);
  zone(tree, "intel-rapl:0", "package-0", 110);
  zone(tree, "intel-rapl:1", "psys", 420);
  zone(tree, "intel-rapl:2", "package-1", 230);
  reader.read(1s);
  CHECK(reader.domain("uncore-1").has_value());
  CHECK(reader.reading.total->energy_uj == 400);
  zone(tree, "intel-rapl:0", "package-0", 210);
  reader.read(1s);  // psys stands still: a board that does not count it
  CHECK(reader.reading.total->energy_uj == 100);
}

TEST_CASE("dies of one socket are packages of their own") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0-die-0", 0);
  zone(tree, "intel-rapl:1", "package-0-die-1", 0);
  zone(tree, "intel-rapl:1:0", "dram", 0);
  Reader reader(tree);
  reader.read(0s);
  zone(tree, "intel-rapl:0", "package-0-die-0", 5);
  zone(tree, "intel-rapl:1", "package-0-die-1", 6);
  reader.read(1s);
  CHECK(reader.domain("package-0-die-1")->energy_uj == 6);
  CHECK(reader.domain("dram-0-die-1").has_value());
  CHECK(reader.reading.total->energy_uj == 11);
}

TEST_CASE("a twin alone is used, and a subzone of a nameless zone still counts") {
  const Tree tree;
  zone(tree, "intel-rapl-mmio:0", "package-0", 0);
  zone(tree, "intel-rapl:a", "", 0);
  zone(tree, "intel-rapl:a:0", "dram", 0);
  Reader reader(tree);
  CHECK(reader.rapl->zone_count() == 2);
}

TEST_CASE("a zone that fails blanks the total for that interval and begins anew") {
  const Tree tree;
  zone(tree, "intel-rapl:0", "package-0", 100);
  zone(tree, "intel-rapl:1", "package-1", 100);
  Reader reader(tree);
  reader.read(0s);
  tree.put("sys/class/powercap/intel-rapl:1/energy_uj", "");
  zone(tree, "intel-rapl:0", "package-0", 200);
  reader.read(1s);
  CHECK(reader.errors.size() == 1);
  CHECK_FALSE(reader.reading.total.has_value());
  CHECK(reader.domain("package-0")->energy_uj == 100);
  zone(tree, "intel-rapl:1", "package-1", 5'000);
  reader.read(1s);
  CHECK_FALSE(reader.reading.total.has_value());
  zone(tree, "intel-rapl:1", "package-1", 5'050);
  CHECK(reader.read(1s).total->energy_uj == 50);
}

TEST_CASE("a machine without powercap, or with zones that count nothing, is not found and says why") {
  const Tree bare;
  const auto none = Rapl::open_(Roots::below(bare.path()));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().subject.find("powercap") != std::string::npos);
  const Tree limits{{"sys/class/powercap/intel-rapl:0/name", "package-0\n"}};
  CHECK_FALSE(Rapl::open_(Roots::below(limits.path())));
}

TEST_CASE("zone names that are not known stay themselves, and garbage is none") {
  CHECK(parse_zone_name("psys\n")->kind == RaplKind::psys);
  CHECK(parse_zone_name("package-1-die-3")->label() == "package-1-die-3");
  CHECK(parse_zone_name("accelerator")->kind == RaplKind::other);
  for (const char* garbage : {"", "package-", "package-x", "package-0-die", "package-0-die-", "package-0-foo-1"})
    CHECK_MESSAGE(!parse_zone_name(garbage).has_value(), garbage);
  CHECK(parent_zone("intel-rapl:0:1") == "intel-rapl:0");
  CHECK(parent_zone("intel-rapl:0").empty());
}
