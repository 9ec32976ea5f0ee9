#include "agent/collect/hwmon.hpp"

#include <doctest/doctest.h>

#include "agent/collect/energy.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
// Composed after Documentation/hwmon/amd_energy.rst: cores first, then sockets.
void amd_energy(const Tree& tree, std::uint64_t socket0_uj, std::uint64_t socket1_uj) {
  const std::string at = "sys/class/hwmon/hwmon3/";
  tree.put(at + "name", "amd_energy\n");
  for (const auto& [n, label, uj] :
       {std::tuple{"1", "Ecore000", std::uint64_t{11}}, std::tuple{"2", "Ecore001", std::uint64_t{12}},
        std::tuple{"3", "Esocket0", socket0_uj}, std::tuple{"4", "Esocket1", socket1_uj}}) {
    tree.put(at + "energy" + n + "_label", std::string(label) + "\n");
    tree.put(at + "energy" + n + "_input", std::to_string(uj) + "\n");
  }
}

struct Reader {
  explicit Reader(const Tree& tree) {
    auto opened = Hwmon::open_(Roots::below(tree.path()));
    REQUIRE(opened);
    hwmon.emplace(std::move(*opened));
  }
  void read(Duration later) {
    clock.advance(later);
    errors.clear();
    hwmon->read(readings, clock, scratch, errors);
  }
  std::optional<Hwmon> hwmon;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(256);
  EnergyReadings readings;
  CollectErrors errors;
};
}  // namespace

TEST_CASE("hwmon: AMD's sockets are packages, its cores are parts of them, and a restarted counter is absent") {
  const Tree tree;
  amd_energy(tree, 1'000, 2'000);
  Reader reader(tree);
  CHECK(reader.hwmon->labels() == "package-0 (amd_energy), package-1 (amd_energy)");
  reader.read(0s);
  CHECK_FALSE(reader.readings[0].energy_uj.has_value());
  amd_energy(tree, 1'500, 2'700);
  reader.read(1s);
  CHECK(reader.readings[0].energy_uj == 500U);
  CHECK(reader.readings[1].energy_uj == 700U);
  amd_energy(tree, 3, 2'800);
  reader.read(1s);
  CHECK_FALSE(reader.readings[0].energy_uj.has_value());
  CHECK(reader.readings[1].energy_uj == 100U);
}

TEST_CASE("hwmon: power is integrated between two readings, over at most the time that they cover") {
  const MonoTime t0{};
  CHECK(energy_between_uj({t0, 100'000'000}, {t0 + 1s, 200'000'000}) == 150'000'000U);
  CHECK(energy_between_uj({t0, 1}, {t0 + 1ms, 1}) == 0U);
  CHECK(energy_between_uj({t0, ~std::uint64_t{0}}, {t0 + 1s, ~std::uint64_t{0}}) == ~std::uint64_t{0});
  CHECK_FALSE(energy_between_uj({t0, 1}, {t0, 1}).has_value());
  CHECK_FALSE(energy_between_uj({t0, 1}, {t0 + kMaxPowerInterval + 1ns, 1}).has_value());
}

TEST_CASE("hwmon: a meter that shows nothing, or -1 mW as 4.29 MW, has no reading") {
  const Tree tree{{"sys/class/hwmon/hwmon0/name", "power_meter\n"},
                  {"sys/class/hwmon/hwmon0/power1_average", "262000000\n"}};
  Reader reader(tree);
  reader.read(0s);
  for (const char* nothing : {"4294967295000\n", "0\n"}) {
    tree.put("sys/class/hwmon/hwmon0/power1_average", nothing);
    reader.read(1s);
    CHECK_FALSE(reader.readings[0].energy_uj.has_value());
    REQUIRE(reader.errors.size() == 1);
    CHECK(reader.errors[0].second.what.find("not a valid power") != std::string::npos);
  }
  tree.put("sys/class/hwmon/hwmon0/power1_average", "262000000\n");
  reader.read(1s);
  CHECK_FALSE(reader.readings[0].energy_uj.has_value());
  reader.read(1s);
  CHECK(reader.readings[0].energy_uj == 262'000'000U);
}

TEST_CASE("hwmon: a system's power meter is the sum only if no package is known") {
  const Tree tree{{"sys/class/hwmon/hwmon0/name", "power_meter\n"},
                  {"sys/class/hwmon/hwmon0/power1_average", "120000000\n"},
                  {"sys/class/hwmon/hwmon0/power1_average_interval", "1000\n"},
                  {"sys/class/hwmon/hwmon1/name", "coretemp\n"},
                  {"sys/class/hwmon/hwmon1/temp1_input", "40000\n"}};
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  std::vector<char> scratch(4096);
  CollectErrors errors;
  ManualClock clock;
  auto alone = EnergyMeter::open_(config);
  alone.read(clock, 0.5, scratch, errors);
  amd_energy(tree, 0, 0);
  auto beside = EnergyMeter::open_(config);
  beside.read(clock, 0.5, scratch, errors);
  clock.advance(2s);
  const auto& whole = alone.read(clock, 0.5, scratch, errors);
  CHECK(whole.source == EnergySource::hwmon);
  CHECK(whole.energy_uj == 240'000'000U);
  amd_energy(tree, 50, 60);
  const auto& packages = beside.read(clock, 0.5, scratch, errors);
  CHECK(packages.energy_uj == 110U);
  REQUIRE(packages.domains.size() == 3);
  CHECK(packages.domains[2].name == "system");
  CHECK(packages.domains[2].source == EnergySource::hwmon);
}

TEST_CASE("hwmon: a chip that is not known to measure a package is ignored, and a known reason is reported") {
  const Tree tree{{"sys/class/hwmon/hwmon0/name", "zenpower\n"},
                  {"sys/class/hwmon/hwmon0/power1_label", "SVI2_P_Core\n"},
                  {"sys/class/hwmon/hwmon0/power1_input", "7660000\n"},
                  {"sys/class/hwmon/hwmon1/name", "ina226\n"},
                  {"sys/class/hwmon/hwmon1/power1_input", "5000000\n"}};
  const auto none = Hwmon::open_(Roots::below(tree.path()));
  REQUIRE_FALSE(none);
  CHECK(none.error().what.find("zenpower") != std::string::npos);
  CHECK(hwmon_sensor("apm_xgene", "power1_input", "CPU power\n")->is_power);
  CHECK_FALSE(hwmon_sensor("apm_xgene", "power2_input", "IO power").has_value());
  for (const char* label : {"Ecore000", "Esocket", "Esocketx", ""})
    CHECK_MESSAGE(!hwmon_sensor("amd_energy", "energy1_input", label).has_value(), label);
  CHECK_FALSE(hwmon_sensor("amd_energy", "energy_input", "Esocket0").has_value());
}
