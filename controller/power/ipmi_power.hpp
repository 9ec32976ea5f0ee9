// ipmi_power: puts a node to sleep, wakes and observes it over IPMI 2.0, with ipmitool.
// Source   `ipmitool -I lanplus ... chassis power status|soft|on`, as a user with the privilege OPERATOR; the password
//          is in a file in memory that only this ipmitool has
// Sleeps   by `soft`, which asks the operating system (ACPI), never by force
// Errors   those of credentials.hpp and bounded_process.hpp; denied (user, password, privilege), unavailable (no
//          answer), unsupported (cipher suite; another depth than off), malformed, io; keeps ipmitool's output
// Threads  any
#pragma once

#include <memory>
#include <utility>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

std::shared_ptr<NodePower> make_ipmi_power(IpmiConfig config, const Clock& clock);

}  // namespace wattle::controller::power
