// energy_settings: which settings of a machine can be lowered, and to which value. All files are in an injected tree.
#include "agent/power/energy_settings.hpp"

#include <doctest/doctest.h>

#include "energy_tree.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;

namespace {

struct EnergyMachine {
  wattle::test::TempDir dir;
  EnergyTree tree{dir.path()};

  std::map<std::string, std::string> lowest() const {
    std::map<std::string, std::string> all;
    for (const EnergySetting& setting : read_energy_settings(dir.path() + "/sys")) {
      CHECK(is_energy_setting(setting.path));
      CHECK(setting.found == tree.get(setting.path));
      all[setting.path] = setting.lowest;
    }
    return all;
  }
};

const std::string kPackageZone = "class/powercap/intel-rapl:0/";

}  // namespace

TEST_CASE_FIXTURE(EnergyMachine, "every policy can have the preference power, and a package half of its limit") {
  CHECK(lowest() ==
        std::map<std::string, std::string>{{kPolicy0, "power"}, {kPolicy1, "power"}, {kPackage, "45000000"}});
}

TEST_CASE("amd_pstate's policies can have the preference power; its package has no limit and is omitted") {
  const wattle::test::TempDir dir;
  const EnergyTree tree(dir.path(), "amd-pstate-epp");
  const auto settings = read_energy_settings(dir.path() + "/sys");
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].path == kPolicy0);
  CHECK(settings[1].path == kPolicy1);
}

TEST_CASE_FIXTURE(EnergyMachine, "a policy whose preference is a number keeps that number as the value to restore") {
  tree.remove("class");
  tree.put(kPolicy0, "64\n");
  CHECK(lowest().size() == 2);
}

TEST_CASE_FIXTURE(EnergyMachine, "the governor performance permits no other preference, so its policies are omitted") {
  tree.remove("class");
  for (const std::string policy : {"policy0", "policy1"})
    tree.put("devices/system/cpu/cpufreq/" + policy + "/energy_performance_available_preferences", "performance \n");
  CHECK(lowest().empty());
}

TEST_CASE_FIXTURE(EnergyMachine, "the twin of a package in intel-rapl-mmio is omitted") {
  tree.remove("devices/system");
  tree.put("class/powercap/intel-rapl-mmio:0/name", "package-0\n");
  tree.put("class/powercap/intel-rapl-mmio:0/constraint_0_name", "long_term\n");
  tree.put("class/powercap/intel-rapl-mmio:0/constraint_0_max_power_uw", "95000000\n");
  tree.put("class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw", "90000000\n");
  CHECK(lowest() == std::map<std::string, std::string>{{kPackage, "45000000"}});
}

TEST_CASE_FIXTURE(EnergyMachine, "a machine without these files has no settings, and one with some has those") {
  tree.remove("class");
  CHECK(lowest() == std::map<std::string, std::string>{{kPolicy0, "power"}, {kPolicy1, "power"}});
  tree.remove("devices");
  CHECK(lowest().empty());
}

TEST_CASE_FIXTURE(EnergyMachine, "a policy is omitted if it lacks the preference, has it already, or cannot be read") {
  tree.put("devices/system/cpu/cpufreq/policy0/energy_performance_available_preferences", "performance powerful\n");
  tree.put(kPolicy1, "power\n");
  CHECK(lowest() == std::map<std::string, std::string>{{kPackage, "45000000"}});
  tree.put(kPolicy1, "\n");
  CHECK(lowest().size() == 1);
  tree.remove(kPolicy1);
  std::filesystem::create_directory(tree.path(kPolicy1));
  CHECK(lowest().size() == 1);
}

TEST_CASE_FIXTURE(EnergyMachine,
                  "a package keeps a limit that is outside its constraints, unknown, or without effect") {
  tree.remove("devices/system");
  const auto untouched = [this](const char* name, const char* text) {
    const std::string before = tree.get(kPackageZone + name);
    tree.put(kPackageZone + name, text);
    const bool none = lowest().empty();
    tree.put(kPackageZone + name, before + "\n");
    return none;
  };
  CHECK(untouched("constraint_0_power_limit_uw", "4095875000\n"));
  CHECK(untouched("constraint_0_power_limit_uw", "0\n"));
  CHECK(untouched("constraint_0_power_limit_uw", "-1\n"));
  CHECK(untouched("constraint_0_power_limit_uw", "99999999999999999999999\n"));
  CHECK(untouched("constraint_0_max_power_uw", "\n"));
  CHECK(untouched("constraint_0_max_power_uw", "0\n"));
  CHECK(untouched("constraint_0_name", "short_term\n"));
  CHECK(untouched("enabled", "0\n"));
  CHECK(untouched("name", "psys\n"));
  CHECK(lowest().size() == 1);
  tree.put(kPackageZone + "constraint_0_min_power_uw", "60000000\n");
  CHECK(lowest() == std::map<std::string, std::string>{{kPackage, "60000000"}});
  tree.put(kPackageZone + "constraint_0_min_power_uw", "91000000\n");
  CHECK(lowest().empty());
}

TEST_CASE("only the paths of energy settings are accepted") {
  CHECK(is_energy_setting(kPolicy0));
  CHECK(is_energy_setting(kPackage));
  for (const char* other :
       {"", "devices/system/cpu/cpufreq/policy/energy_performance_preference",
        "devices/system/cpu/cpufreq/policy0/../../energy_performance_preference", "class/powercap/intel-rapl:0/enabled",
        "/etc/passwd", "class/powercap/intel-rapl:0/x/constraint_0_power_limit_uw"})
    CHECK_FALSE(is_energy_setting(other));
}

TEST_CASE_FIXTURE(EnergyMachine, "a value that cannot be written names its file") {
  tree.remove(kPolicy0);
  const Status written = write_setting(tree.path(kPolicy0), "power");
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::not_found);
  CHECK(written.error().subject == tree.path(kPolicy0));
}
