// wol_power: wakes a node with Wake-on-LAN. It can neither put a node to sleep nor observe it.
// Source   UDP to a broadcast address; a packet is sent three times, because none is acknowledged
// Errors   malformed (MAC address), denied, unavailable (no route), io
// Threads  any
#pragma once

#include <memory>
#include <utility>

#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

std::shared_ptr<NodePower> make_wol_power(WolConfig config);

}  // namespace wattle::controller::power
