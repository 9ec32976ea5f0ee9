// raw_socket: a plain TCP client that sends arbitrary bytes, to test what a well-behaved client never does.
// Threads  single owner
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/dir.hpp"
#include "tests/patience.hpp"

namespace wattle::http::test {

class RawSocket {
 public:
  RawSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // After this time a test fails, whatever it waits for.
    const timeval patience{std::chrono::duration_cast<std::chrono::seconds>(tests::soon()).count(), 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  explicit RawSocket(std::uint16_t port) : RawSocket() { connect(port); }
  bool connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    return connected_;
  }
  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Reads until the peer closes.
  std::string read_to_end() const {
    std::string all;
    while (read_some(all)) {
    }
    return all;
  }
  // Reads until `text` has arrived `count` times.
  std::string read_until(std::string_view text, int count = 1) const {
    std::string all;
    for (;;) {
      int seen = 0;
      for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + text.size())) ++seen;
      if (seen >= count || !read_some(all)) return all;
    }
  }

 private:
  bool read_some(std::string& all) const {
    char chunk[4096];
    const auto got = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    all.append(chunk, static_cast<std::size_t>(got));
    return true;
  }

  Fd fd_;
  bool connected_ = false;
};

}  // namespace wattle::http::test
