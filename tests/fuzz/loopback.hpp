// loopback: an exchange with a server of this process: sends all bytes, then receives all bytes.
// Signals  retries calls that the fuzzer's alarm interrupts
// Threads  single owner
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

namespace wattle::fuzz {

inline sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl((127U << 24) | (host & 0xffffff));
  return address;
}

template <class Call>
auto again(Call call) {
  for (;;) {
    const auto done = call();
    if (done >= 0 || errno != EINTR) return done;
  }
}

// The fuzzer's timeout catches a server that neither answers nor closes.
inline std::string converse(std::uint16_t port, std::initializer_list<std::string_view> sends) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) std::abort();
  // Uses another address each time, because ports of closed connections stay in use for a minute.
  static std::uint32_t host = 1;
  const int one = 1;
  ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  host = host % 0xfffffe + 1;
  const sockaddr_in from = loopback(host, 0), to = loopback(1, port);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) std::abort();
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    if (errno != EINTR) std::abort();
    pollfd up{fd, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    again([&] { return ::poll(&up, 1, -1); });
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) std::abort();
  }
  for (std::string_view bytes : sends)
    while (!bytes.empty()) {
      const auto sent = again([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
      if (sent < 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  ::shutdown(fd, SHUT_WR);
  std::string all;
  char chunk[4096];
  for (;;) {
    const auto got = again([&] { return ::recv(fd, chunk, sizeof chunk, 0); });
    if (got <= 0) break;
    all.append(chunk, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return all;
}

}  // namespace wattle::fuzz
