// server: a small HTTP/1.1 server for a handful of endpoints.
// Source   Boost.Beast; Beast's and OpenSSL's only home is this folder
// Errors   conflict (address in use), malformed (address), those of tls.hpp and token.hpp
// Threads  handlers run on `threads` worker threads, several at once; they must be thread safe and may block for
// milliseconds
//
// Always sends Content-Length, keeps connections open for `idle_timeout` (before the first request for
// `request_timeout`), limits header, body and time, refuses what could hide a second request in the first (head.hpp), answers 400/401/404/405/408/413/431/500/503 by itself with one line
// of text that names what is wrong, and counts what it refuses. An answer that is a stream has no length and ends with its connection. A 401 gets the header that asks for a bearer token, a
// handler's too.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/http/access.hpp"
#include "common/http/broadcast.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::http {

struct Request {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query: "/api/v1/nodes"
  std::map<std::string, std::string> query;
  std::string body;
  std::string authorization;                   // that header as it came; empty without
  std::map<std::string, std::string> headers;  // the others, by their names in lower case; the last of equal ones
  std::string from = {};                       // the peer's address, or of IPv6 its first 64 bits
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // beside those that the server sets
  std::shared_ptr<Broadcast> stream;    // whoever asked by GET becomes its listener; the body is not sent then
  std::optional<Refused> refused = {};  // counted and logged as that
};

using Handler = std::function<Response(const Request&)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 picks one
  std::size_t max_header_bytes = 16 << 10;
  std::size_t max_body_bytes = 8 << 20;
  // Of all requests that are being read or answered, without those of at most 64 KiB. Who finds no room gets a 503.
  std::size_t max_bodies_bytes = 64 << 20;
  std::size_t max_connections = 256;
  std::size_t max_per_source = 0;  // of them from one address; 0: a quarter. crowd.hpp says who gives way
  std::chrono::milliseconds idle_timeout{120'000};    // kube-scheduler keeps idle connections for 90 s
  std::chrono::milliseconds request_timeout{10'000};  // from first byte to last
  unsigned threads = 4;
  TlsFiles tls;                                           // read again when they change
  std::string token_file;                                 // empty: nobody is asked for a token
  std::set<std::string> open_paths{"/livez", "/readyz"};  // that ask for no token; with a "/" at its end all below
  std::shared_ptr<RefusalCounts> refusals;                // null: nobody looks
  std::function<void()> turns;  // called each half second by a worker that is free; empty: nobody looks
};

class Server {
 public:
  // Routes: "METHOD /path"; a path that ends in "/" matches everything below it, but "/" itself alone. GET routes answer HEAD too.
  static Result<Server> start(const ServerOptions& options, std::map<std::string, Handler> routes, const Log& log);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();  // stops accepting, lets handlers end, joins
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
