// redfish_answer: parses the answers of a Redfish service. A BMC is not trusted: its answers are bounded, and a link
// that leaves its own service is refused.
// Source   DMTF DSP0266 (protocol) and DSP2046 (schemas): ComputerSystem, ActionInfo, Chassis, Power,
//          EnvironmentMetrics
// Errors   malformed (not such a document, a link elsewhere), out_of_range (larger or deeper than the limits),
//          not_found (no system), conflict (several systems)
// Units    W
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "controller/power/node_power.hpp"

namespace wattle::controller::power {

// Longest answer that is read.
inline constexpr std::size_t kMostRedfishBytes = std::size_t{1} << 20;

struct RedfishSystem {
  PowerState state = PowerState::unknown;
  bool turning_on = false, turning_off = false;  // the state is unknown, and this is its next one
  std::string reset_target;                      // of ComputerSystem.Reset; empty: it has no such action
  std::vector<std::string> reset_types;          // that the system names as allowable; empty: it names none
  std::string reset_info;                        // link to them; empty: none
  std::vector<std::string> chassis;              // links
};

struct RedfishChassis {
  std::string power, environment;  // links to its meters; empty: none
  std::size_t systems = 0;         // in it; a meter of several systems does not measure one of them
};

// Returns whether the text is a path below /redfish/ that can be requested unchanged.
bool is_redfish_path(std::string_view text);

// `subject` names the answer in errors.
Result<std::string> parse_only_member(std::string_view body, const std::string& subject);
Result<RedfishSystem> parse_system(std::string_view body, const std::string& subject);
Result<std::vector<std::string>> parse_reset_info(std::string_view body, const std::string& subject);
Result<RedfishChassis> parse_chassis(std::string_view body, const std::string& subject);
// Reads Power (PowerControl) and EnvironmentMetrics; no value without a meter, or beyond 0 to 100,000 W.
std::optional<double> parse_power_w(std::string_view body);
// The messages of an error's body; empty if it has none.
std::string parse_messages(std::string_view body);

}  // namespace wattle::controller::power
