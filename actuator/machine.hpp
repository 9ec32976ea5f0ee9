// machine: paths of this machine that the actuator uses.
// Threads  values
#pragma once

#include <unistd.h>

#include <string>

namespace wattle::actuator {

// `prefix` precedes each path; it is "" on the machine itself.
struct Machine {
  std::string prefix;
  std::string proc() const { return prefix + "/proc"; }
  // Same check as sd_booted(3).
  bool has_systemd() const { return ::access((prefix + "/run/systemd/system").c_str(), F_OK) == 0; }
  std::string bus_socket() const { return prefix + "/run/dbus/system_bus_socket"; }
  std::string control_dir() const { return prefix + "/run/systemd/system.control"; }
};

}  // namespace wattle::actuator
