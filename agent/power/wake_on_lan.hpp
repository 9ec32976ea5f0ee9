// wake_on_lan: finds the network interfaces through which a magic packet wakes this node.
// Source   <sys>/class/net/*/{address,device/power/wakeup}; drivers set the latter when Wake-on-LAN is switched on
// Errors   none: an unreadable interface is left out
// Threads  pure
#pragma once

#include <string>
#include <vector>

namespace wattle::agent {

struct WakingInterface {
  std::string name, mac;
};
// Returns the interfaces in the order of their names.
std::vector<WakingInterface> read_waking_interfaces(const std::string& sys);

}  // namespace wattle::agent
