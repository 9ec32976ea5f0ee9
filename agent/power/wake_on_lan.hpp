// wake_on_lan: the network interfaces of this node that a magic packet wakes.
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
// Returns them in the order of their names.
std::vector<WakingInterface> read_waking_interfaces(const std::string& sys);

}  // namespace wattle::agent
