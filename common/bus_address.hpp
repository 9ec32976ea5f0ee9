// bus_address: D-Bus addresses of unix sockets.
// Errors   none
// Threads  pure function
#pragma once

#include <string>

namespace wattle {

// "unix:path=" and the percent-encoded path.
std::string bus_address(const std::string& socket_path);

}  // namespace wattle
