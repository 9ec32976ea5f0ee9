// doctor: checks what the actuator can do on this machine, and whether a kubelet owns cgroups here.
// Threads  values
#pragma once

#include <string>
#include <vector>

#include "actuator/config.hpp"
#include "actuator/run.hpp"

namespace wattle::actuator {

struct Finding {
  std::string subject;
  bool ok = false;
  bool needed = false;  // limits cannot be set without it
  std::string text;
};

std::vector<Finding> examine(const ActuatorConfig& config, const Machine& machine);

}  // namespace wattle::actuator
