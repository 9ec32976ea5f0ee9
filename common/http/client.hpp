// client: a small blocking HTTP/1.1 client that keeps its connection; uses TLS if its origin has it.
// Errors   unavailable (refused, unreachable), denied (TLS: untrusted certificate), timeout, malformed (not HTTP, or
//          larger than max_body_bytes)
// Threads  single owner; stop() from any
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
  std::map<std::string, std::string> headers = {};  // by lower-case name; the first of duplicates
};

class Client {
 public:
  explicit Client(Origin origin, std::size_t max_body_bytes = 64 << 20);
  // Uses plain HTTP. Connects at the first request, and again when the peer has closed the connection.
  Client(std::string host, std::uint16_t port, std::size_t max_body_bytes = 64 << 20);
  Client(Client&&) noexcept;
  ~Client();
  // Sets the media type to request; empty: any.
  void accept(std::string type);
  // Sets the media type of later request bodies; the default is application/json.
  void content_type(std::string type);
  // Sends the token as "Authorization: Bearer" with every request.
  void bearer(std::string token);
  // Sends the header with every request, in place of its earlier value. An invalid value fails the requests.
  void header(const std::string& name, std::string value);
  Result<Answer> request(const std::string& method, const std::string& target, const std::string& body,
                         std::chrono::milliseconds timeout);
  // Closes the connection: the next request opens one with the client's certificate at that time.
  void disconnect();
  // Fails the current request and all later ones. Call from any thread.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
