// connection: a client's side of one TCP connection, plain or TLS. Each call blocks and ends in time; private to this folder.
// Source   Boost.Asio and Beast's tcp_stream, in connection.cpp alone; OpenSSL
// Errors   error_code of the call; failure() names the target and, for TLS, the reason
// Threads  single owner; stop() from any
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

// The room for one read.
inline constexpr std::size_t kReadBytes = 64 << 10;

// "host:port" as the header Host and URLs have it; IPv6 in brackets.
std::string authority(const Origin& origin);

class Connection {
 public:
  explicit Connection(Origin origin);
  ~Connection();

  const Origin& origin() const;
  bool open() const;
  void close();
  // To the peer, and through the handshake, each within `timeout`.
  Status connect(const std::string& target, std::chrono::milliseconds timeout);
  // The error of a request for `target`.
  tl::unexpected<Error> failure(boost::system::error_code error, const std::string& target) const;
  // Ends every call in progress and every later one.
  void stop();

  // The limit of all calls that follow, together.
  void expires_after(std::chrono::milliseconds limit);
  boost::system::error_code write(std::string_view bytes);
  // At least one byte, and at most `room`; `count` says how many.
  boost::system::error_code read_some(void* into, std::size_t room, std::size_t& count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
