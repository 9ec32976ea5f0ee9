// doctor: what this machine lets the actuator do, and what it must not be used for.
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
  bool needed = false;  // nothing can be set without it
  std::string text;
};

std::vector<Finding> examine(const ActuatorConfig& config, const Machine& machine);

}  // namespace wattle::actuator
