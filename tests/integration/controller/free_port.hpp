// free_port: reserves a port for a process whose port other processes need before it starts.
// Source   a port below the range of outgoing connections, reserved until this process ends by the abstract name that
//          free_ports() of tests/e2e/house.py also uses: no test that runs beside this one draws the same port
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/dir.hpp"

namespace wattle::controller::test {

inline bool reserve(std::uint16_t port, Fd& name) {
  name = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string text = "wattle-test-port-" + std::to_string(port);
  sockaddr_un unique{};
  unique.sun_family = AF_UNIX;
  text.copy(unique.sun_path + 1, text.size());  // a name that begins with NUL is abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(name.get(), reinterpret_cast<sockaddr*>(&unique), length) != 0) return false;
  const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return ::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

inline std::uint16_t free_port() {
  static std::vector<Fd> reserved;
  static unsigned next = static_cast<unsigned>(::getpid()) * 7919U;
  for (unsigned tries = 0; tries < 22000; ++tries, ++next) {
    const auto port = static_cast<std::uint16_t>(10000 + next % 22000);
    if (Fd name; reserve(port, name)) {
      reserved.push_back(std::move(name));
      ++next;
      return port;
    }
  }
  FAIL("no port from 10000 to 31999 is free");
  return 0;
}

}  // namespace wattle::controller::test
