// connection: client side of one TCP connection, plain or TLS. Each call blocks for a limited time; private to this
// folder.
// Source   Boost.Asio and Beast's tcp_stream, only in connection.cpp; OpenSSL
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

// Buffer size of one read.
inline constexpr std::size_t kReadBytes = 64 << 10;

// "host:port" as used in the Host header and in URLs; IPv6 in brackets.
std::string authority(const Origin& origin);

class Connection {
 public:
  explicit Connection(Origin origin);
  ~Connection();

  const Origin& origin() const;
  bool open() const;
  void close();
  // Connects and does the TLS handshake, each within `timeout`.
  Status connect(const std::string& target, std::chrono::milliseconds timeout);
  // Turns the code into the error of a request for `target`.
  tl::unexpected<Error> failure(boost::system::error_code error, const std::string& target) const;
  // Ends every call in progress and every later one.
  void stop();

  // Sets one time limit for all following calls together.
  void expires_after(std::chrono::milliseconds limit);
  boost::system::error_code write(std::string_view bytes);
  // Reads at least one byte and at most `room`; sets `count`.
  boost::system::error_code read_some(void* into, std::size_t room, std::size_t& count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
