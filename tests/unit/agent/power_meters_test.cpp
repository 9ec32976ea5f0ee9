#include "agent/collect/power_meters.hpp"

#include <doctest/doctest.h>

#include "agent/collect/energy.hpp"
#include "agent/collect/hwmon.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
struct Meter {
  std::string label;
  std::uint64_t power_w = 0;
  std::vector<std::string> measures = {};
};

void put_meters(const Tree& tree, const std::vector<Meter>& meters, bool in_device = false) {
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const std::string chip = "sys/class/hwmon/hwmon" + std::to_string(i) + "/",
                      at = chip + (in_device ? "device/" : "");
    tree.put(at + "name", "power_meter\n");
    tree.put(at + "power1_average", std::to_string(meters[i].power_w * 1'000'000) + "\n");
    tree.put(at + "power1_average_interval", "1000\n");
    if (!meters[i].label.empty()) tree.put(at + "power1_oem_info", meters[i].label + "\n");
    for (const auto& device : meters[i].measures) tree.put(at + "measures/" + device, "");
  }
}

struct ReadMeters {
  std::uint64_t power_w = 0;
  EnergySource source = EnergySource::none;
  std::string domains, energy_finding;
};

ReadMeters read_meters(const std::vector<Meter>& meters, bool in_device = false) {
  const Tree tree;
  put_meters(tree, meters, in_device);
  AgentConfig config;
  config.roots = Roots::below(tree.path());
  std::vector<char> scratch(4096);
  CollectErrors errors;
  ManualClock clock;
  auto meter = EnergyMeter::open_(config);
  meter.read(clock, 0.5, scratch, errors);
  clock.advance(1s);
  const auto& interval = meter.read(clock, 0.5, scratch, errors);
  ReadMeters metered{interval.energy_uj.value_or(0) / 1'000'000, interval.source, "", meter.findings().back().why};
  for (const auto& domain : interval.domains)
    metered.domains +=
        (metered.domains.empty() ? "" : ", ") + domain.name + " " + std::to_string(domain.energy_uj / 1'000'000);
  return metered;
}
}  // namespace

TEST_CASE("two power supplies of one machine are added up, each under its own label") {
  for (const bool in_device : {false, true}) {
    const ReadMeters metered = read_meters({{"", 180}, {"", 170}}, in_device);
    CHECK(metered.source == EnergySource::hwmon);
    CHECK(metered.power_w == 350);
    CHECK(metered.domains == "system 180, system-1 170");
    CHECK(metered.energy_finding.starts_with("system by hwmon"));
  }
  CHECK(read_meters({{"PSU1 Input", 180}, {"PSU2 Input", 170}}).domains == "PSU1 Input 180, PSU2 Input 170");
  CHECK(read_meters({{"", 120}, {"", 110}, {"", 130}}).power_w == 360);
}

TEST_CASE("a module's power is the sum, and its processor and rails are not added to it") {
  const std::vector<Meter> grace{{"Module Power Socket 0", 210},
                                 {"Grace Power Socket 0", 164},
                                 {"CPU Power Socket 0", 120},
                                 {"SysIO Power Socket 0", 44}};
  const ReadMeters one = read_meters(grace);
  CHECK(one.power_w == 210);
  CHECK(one.domains ==
        "Module Power Socket 0 210, Grace Power Socket 0 164, CPU Power Socket 0 120, SysIO Power Socket 0 44");
  std::vector<Meter> two = grace;
  for (const auto& meter : grace) two.push_back({meter.label.substr(0, meter.label.size() - 1) + "1", meter.power_w});
  CHECK(read_meters(two).power_w == 420);
  CHECK(read_meters({grace[3], grace[2], grace[1], grace[0]}).power_w == 210);
  CHECK(read_meters({grace[1], grace[2], grace[3]}).power_w == 164);
  CHECK(read_meters({grace[0], grace[2], grace[3]}).power_w == 210);
}

TEST_CASE("the rails of a processor alone measure its package, not the system") {
  const ReadMeters metered =
      read_meters({{"CPU Power Socket 0", 120}, {"CPU Power Socket 1", 110}, {"SysIO Power Socket 0", 44}});
  CHECK(metered.power_w == 230);
  CHECK(metered.energy_finding.find("package by hwmon") != std::string::npos);
  CHECK(metered.energy_finding.find("system by hwmon") == std::string::npos);
  const ReadMeters none = read_meters({{"SysIO Power Socket 0", 44}, {"Fan", 12}});
  CHECK(none.source == EnergySource::estimated);
  CHECK(none.energy_finding.find("by hwmon") == std::string::npos);
}

TEST_CASE("a total beside its supplies counts once, recognised by label, measured devices or value") {
  CHECK(read_meters({{"PSU 1", 180}, {"PSU 2", 170}, {"Total", 350}}).power_w == 350);
  CHECK(read_meters({{"", 180, {"LNXSYBUS:00"}}, {"", 170, {"LNXSYBUS:01"}}, {"", 330, {"LNXSYBUS:00", "LNXSYBUS:01"}}})
            .power_w == 330);
  CHECK(read_meters({{"", 352}, {"", 180}, {"", 170}}).power_w == 352);
  CHECK(read_meters({{"", 350, {"LNXSYBUS:00"}}, {"", 351, {"LNXSYBUS:00"}}}).power_w == 350);
}

TEST_CASE("a battery's meter measures no machine, and a single meter is the system whatever its label") {
  auto places = place_power_meters({{"", {}, true, {}}, {"", {}, false, {}}});
  CHECK(places[0].role == MeterRole::left_out);
  CHECK(places[1] == MeterPlace{MeterRole::system, "system", std::nullopt});
  CHECK(read_meters({{"Blade input", 400}}).domains == "system 400");
  for (const auto& place :
       place_power_meters({{"PSU", {}, false, {}}, {"PSU", {}, false, {}}, {"PSU-1", {}, false, {}}}))
    CHECK(place.role == MeterRole::system);
}
