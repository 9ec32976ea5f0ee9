// energy_settings: the kernel's settings that trade speed for power on an idle node, and the values that save the most.
// Source   <sys>/devices/system/cpu/cpufreq/policy*/energy_{performance_preference,performance_available_preferences}
//          (intel_pstate, amd_pstate), and of each package in <sys>/class/powercap/intel-rapl:*
//          {name,enabled,constraint_0_{name,power_limit_uw,max_power_uw,min_power_uw}}
// Lowest   preference "power"; half of the long-term limit, but at least the package's minimum. An idle package draws
//          less than half of its limit, so the limit takes effect only in the moment before the old one is restored
// Skips    a package whose limit is outside of its minimum and maximum, because the kernel may refuse to restore that
//          value; a package without a maximum; a limit that is not enforced; values that are lowest already; files that
//          cannot be read
// Units    uW
// Errors   none of read_energy_settings; write_setting: denied, not_found, io, each with the file
// Threads  any
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::agent {

struct EnergySetting {
  std::string path;  // below sys
  std::string found, lowest;
};

// Returns the settings in the order of their paths.
std::vector<EnergySetting> read_energy_settings(const std::string& sys);
// Returns whether the path is one that read_energy_settings can return.
bool is_energy_setting(std::string_view path);
// Returns the value without its newline.
Result<std::string> read_setting(const std::string& path);
Status write_setting(const std::string& path, std::string_view value);

}  // namespace wattle::agent
