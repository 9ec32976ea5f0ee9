// machine: where on this machine is what the actuator works on.
// Threads  values
#pragma once

#include <unistd.h>

#include <string>

namespace wattle::actuator {

// `prefix` stands before each path of the machine's own: "" on it.
struct Machine {
  std::string prefix;
  std::string proc() const { return prefix + "/proc"; }
  // As sd_booted(3) has it.
  bool has_systemd() const { return ::access((prefix + "/run/systemd/system").c_str(), F_OK) == 0; }
  std::string bus_socket() const { return prefix + "/run/dbus/system_bus_socket"; }
  std::string control_dir() const { return prefix + "/run/systemd/system.control"; }
};

}  // namespace wattle::actuator
