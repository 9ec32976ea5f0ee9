// energy_tree: the files of a machine's energy settings below a directory, with the names and units of the kernel's
// admin-guide/pm/{intel_pstate,amd-pstate}.rst and power/powercap/powercap.rst: two CPU policies and a package of 95 W.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace wattle::agent::test {

inline constexpr const char* kPolicy0 = "devices/system/cpu/cpufreq/policy0/energy_performance_preference";
inline constexpr const char* kPolicy1 = "devices/system/cpu/cpufreq/policy1/energy_performance_preference";
inline constexpr const char* kPackage = "class/powercap/intel-rapl:0/constraint_0_power_limit_uw";

class EnergyTree {
 public:
  // `root` is the parent of sys and proc. The driver is intel_pstate or amd-pstate-epp; on AMD, a package has no limit.
  explicit EnergyTree(const std::string& root, const std::string& driver = "intel_pstate") : root_(root) {
    boot("b0");
    for (const std::string policy : {"policy0", "policy1"}) {
      const std::string dir = "devices/system/cpu/cpufreq/" + policy + "/";
      put(dir + "scaling_driver", driver + "\n");
      put(dir + "scaling_governor", "powersave\n");
      put(dir + "energy_performance_available_preferences",
          "default performance balance_performance balance_power power \n");
      put(dir + "energy_performance_preference", "balance_performance\n");
    }
    put_zone("intel-rapl:0", "package-0", "");
    put_zone("intel-rapl:0:0", "core", "intel-rapl:0/");
    if (driver != "intel_pstate") return;
    const std::string zone = "class/powercap/intel-rapl:0/";
    put(zone + "constraint_0_name", "long_term\n");
    put(zone + "constraint_0_max_power_uw", "95000000\n");
    put(zone + "constraint_0_time_window_us", "27983872\n");
    put(kPackage, "90000000\n");
    put(zone + "constraint_1_name", "short_term\n");
    put(zone + "constraint_1_power_limit_uw", "112500000\n");
    put("class/powercap/intel-rapl:0:0/constraint_0_name", "long_term\n");
    put("class/powercap/intel-rapl:0:0/constraint_0_max_power_uw", "60000000\n");
    put("class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "50000000\n");
  }
  // A zone is a link to its device, as in sysfs.
  void put_zone(const std::string& zone, const std::string& name, const std::string& parent) const {
    const std::string device = "devices/virtual/powercap/intel-rapl/" + parent + zone;
    put(device + "/name", name + "\n");
    put(device + "/enabled", "1\n");
    put(device + "/energy_uj", "1000\n");
    const std::string link = path("class/powercap/" + zone);
    std::filesystem::create_directories(path("class/powercap"));
    std::filesystem::remove(link);
    std::filesystem::create_symlink("../../" + device, link);
  }
  void boot(const std::string& id) const { write(root_ + "/proc/sys/kernel/random/boot_id", id + "\n"); }
  void put(const std::string& name, const std::string& text) const { write(path(name), text); }
  void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }
  // Returns the first word; empty without the file.
  std::string get(const std::string& name) const { return word(path(name)); }
  std::string path(const std::string& name) const { return root_ + "/sys/" + name; }
  std::string state_dir() const { return root_ + "/state"; }
  std::string journal() const { return state_dir() + "/shallow"; }
  std::map<std::string, std::string> settings() const {
    std::map<std::string, std::string> all;
    for (const char* name : {kPolicy0, kPolicy1, kPackage}) all[name] = get(name);
    return all;
  }
  static void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  static std::string word(const std::string& path) {
    std::string text;
    std::ifstream(path) >> text;
    return text;
  }

 private:
  std::string root_;
};

}  // namespace wattle::agent::test
