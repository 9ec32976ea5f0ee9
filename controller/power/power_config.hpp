// power_config: maps each node to the drivers that put it to sleep, wake and observe it.
// Source   a strict YAML file: a list of nodes, in which the first item that matches a node decides
// Errors   malformed with file, line, key and fix for each mistake: an unknown key, a driver that is missing or unused,
//          a file that is missing or that others may read, an item that repeats an earlier one
// Units    s, W
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "controller/power/node_power.hpp"

namespace wattle::controller::power {

// A program of the operator (exec_power.hpp).
struct ExecConfig {
  std::vector<std::string> command;  // an absolute path and arguments; no shell
};

// The BMC's Redfish service. "{node}" in a text is replaced with the node's name.
struct RedfishConfig {
  std::string address;           // "https://10.0.0.7"; http:// only for a loopback address
  std::string credentials_file;  // credentials.hpp
  std::string ca_file;           // authorities of the BMC's certificate; empty: the system's
  std::string fingerprint;       // SHA-256 of the BMC's certificate, 64 hexadecimal digits; trusts exactly that one
  std::string system;            // "/redfish/v1/Systems/1"; empty: the only one
  bool session = false;          // logs in by a session, for a BMC that refuses basic authentication
};

// The BMC over IPMI 2.0, by ipmitool.
struct IpmiConfig {
  std::string address;  // host name or address
  int port = 623;
  std::string credentials_file;
  int cipher_suite = 17;
};

// Wake-on-LAN.
struct WolConfig {
  std::string mac;
  std::string broadcast = "255.255.255.255";  // with IPv6, a multicast address
  int port = 9;
};

// The node's own agent.
struct AgentConfig {
  Depth depth = Depth::suspend;
};

enum class DriverKind : std::uint8_t { none, exec, redfish, ipmi, wol, agent };

struct NodeDrivers {
  std::string node = "*";                     // name or pattern, in which '*' matches any characters
  std::map<std::string, std::string> labels;  // the node must have all of them
  std::optional<ExecConfig> exec;
  std::optional<RedfishConfig> redfish;
  std::optional<IpmiConfig> ipmi;
  std::optional<WolConfig> wol;
  std::optional<AgentConfig> agent = {};
  DriverKind sleep = DriverKind::none, wake = DriverKind::none, observe = DriverKind::none;
  std::optional<double> wake_s, asleep_w;  // instead of the driver's own figures

  bool matches(const Node& to) const;
};

struct PowerConfig {
  std::vector<NodeDrivers> nodes;
};

Result<PowerConfig> load_power_config(const std::string& path);
// `name`: name of the file in errors.
Result<PowerConfig> parse_power_config(const std::string& text, const std::string& name);
// Drivers of the node, each once: "redfish", or "exec, wol". Empty: no item matches it.
std::string driver_names(const PowerConfig& config, const Node& node);
// Returns true if the node's own agent puts it to sleep.
bool sleeps_by_agent(const PowerConfig& config, const Node& node);

inline constexpr std::string_view kNodeWord = "{node}";
// The text with the node's name in place of "{node}".
Result<std::string> for_node(const std::string& text, const Node& node);

}  // namespace wattle::controller::power
