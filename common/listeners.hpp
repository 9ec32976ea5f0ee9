// listeners: checks the addresses on which a program will listen when they are configured, before it starts.
// Accepts  for HTTP a numeric address and a port; for ZeroMQ tcp://ADDRESS:PORT, where ADDRESS is *, numeric or an
//          interface, and ipc:///PATH of a socket in a folder that exists. Port 0 is any free port
// Errors   mistakes of the section: an invalid address, a path that is too long, a port that two listeners use
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.hpp"

namespace wattle {

class Listeners {
 public:
  // Takes the address and the port that `section` has read from the keys `address` and `port`.
  void add_http(config::Section& section, std::string_view name, const std::string& address, std::uint16_t port);
  // Takes the endpoint that `section` has read from the key `key`.
  void add_endpoint(config::Section& section, std::string_view name, std::string_view key, const std::string& endpoint);
  // Checks the path of a unix socket.
  void add_socket(config::Section& section, std::string_view name, std::string_view key, const std::string& path);

 private:
  struct Listener {
    std::string name, host;  // host: "*" for all addresses, or the path of a socket
    std::uint16_t port = 0;
  };
  void add(config::Section& section, std::string_view key, Listener listener);
  std::vector<Listener> all_;
};

}  // namespace wattle
