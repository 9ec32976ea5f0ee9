// sleep_findings: reports whether the agent can put this node to sleep, whether a magic packet can wake it, and whether
// it can be shallow, for doctor and Hello.
// Source   logind, the clock's alarm and the network interfaces (logind.hpp, rtc_alarm.hpp, wake_on_lan.hpp),
//          and the kernel's energy settings (energy_settings.hpp); only if power.sleep is on and for power.depths
// Threads  any
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "agent/finding.hpp"

namespace wattle::agent {

std::vector<Finding> examine_sleep(const AgentConfig& config);

}  // namespace wattle::agent
