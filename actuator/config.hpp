// config: configuration of the actuator.
// Source   a strict YAML file (docs/reference/configuration.md has every key); every key has a default
// Errors   malformed; reports all mistakes at once, each with file, line, key and fix
// Threads  values
#pragma once

#include <string>
#include <vector>

#include "actuator/governor.hpp"
#include "common/actuation.hpp"
#include "common/config.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::actuator {

struct ActuatorConfig {
  std::string state_dir = "/run/wattle-actuator";      // cleared at boot, as limits are
  std::string socket = "/run/wattle-actuator/socket";  // empty: no socket, so no orders from an agent
  std::vector<actuation::Order> workloads;
  Rules rules;
  std::string student_file = actuation::kStudentFile;  // network that moves margins, once it exists; empty: none
  // True if the agent writes the file, which may then be missing.
  bool student_of_agent() const { return student_file == actuation::kStudentFile; }
  LogLevel log_level = LogLevel::info;
};

Result<ActuatorConfig> load_config(const std::string& path);
Result<ActuatorConfig> parse_config(const std::string& text, const std::string& name);
// All keys with their defaults, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::actuator
