// client: a small blocking HTTP/1.1 client, over TLS where its origin says so, that keeps its connection.
// Errors   unavailable (refused, unreachable), denied (TLS: a certificate that is not believed), timeout, malformed (not
//          HTTP, or larger than max_body_bytes)
// Threads  single owner; stop() from any
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
};

class Client {
 public:
  explicit Client(Origin origin, std::size_t max_body_bytes = 64 << 20);
  // Plain HTTP. Connects at the first request, and again when the peer has closed the connection.
  Client(std::string host, std::uint16_t port, std::size_t max_body_bytes = 64 << 20);
  Client(Client&&) noexcept;
  ~Client();
  // The media type that is asked for; none: any.
  void accept(std::string type);
  // Of bodies that are sent from now on; application/json until then.
  void content_type(std::string type);
  // Shown as "Authorization: Bearer" with every request.
  void bearer(std::string token);
  Result<Answer> request(const std::string& method, const std::string& target, const std::string& body,
                         std::chrono::milliseconds timeout);
  // The next request has a connection of its own, with the client's certificate as it is then.
  void disconnect();
  // From any thread: what is under way fails, and so does everything after.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
