// server: an HTTP/1.1 server for a few endpoints.
// Source   Boost.Beast; only this folder uses Beast and OpenSSL
// Errors   conflict (address in use), malformed (address), those of tls.hpp and token.hpp
// Threads  handlers run on `threads` worker threads, several at once; they must be thread-safe and may block for
//          milliseconds
//
// Connections  stay open for `idle_timeout`, before the first request for `request_timeout`; crowd.hpp chooses which
//              one is closed when full
// Refusals     400, 401, 404, 405, 408, 413, 421, 431, 500 and 503, each with a one-line reason; all are counted. Host,
//              token, path, method, length and a route's own check are decided by only the header; the body is read
//              only if they pass
// Answers      have a Content-Length; a stream has none and ends with its connection. A 401, a handler's too, asks for
//              a bearer token and is delayed more with each wrong token (guess_delay.hpp)
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
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
  std::string authorization;                   // the header as received; empty: none
  std::map<std::string, std::string> headers;  // other headers by lower-case name; the last of duplicates
  std::string from = {};                       // address of the peer; for IPv6 its first 64 bits
  std::string repeated = {};                   // a key that is in the query more than once; empty: none
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // added to the server's own
  std::shared_ptr<Broadcast> stream;    // a GET client becomes its listener, and the body is not sent
  std::optional<Refused> refused = {};  // reason for which it is counted and logged
};

using Handler = std::function<Response(const Request&)>;

// Maximum body of a route that declares none.
inline constexpr std::size_t kSmallestBodyBytes = 512;

// Handler of a path with the limits of its requests.
struct Route {
  // Answers a request from its header, before its body is read; nullopt lets it pass.
  using Check = std::function<std::optional<Response>(const Request&)>;

  Route() = default;
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Response, F&, const Request&>>>
  Route(F answer, std::size_t most_body_bytes = kSmallestBodyBytes, Check header_check = {})
      : handler(std::move(answer)), max_body_bytes(most_body_bytes), check(std::move(header_check)) {}

  Handler handler;
  std::size_t max_body_bytes = kSmallestBodyBytes;
  Check check;
  bool any_host = false;  // for probes by other machines, which use any name; the answer holds no data
};
// "METHOD /path"; a path that ends in "/" matches everything below it, except "/" itself. GET routes answer HEAD, too.
using Routes = std::map<std::string, Route>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 picks one
  std::size_t max_header_bytes = 16 << 10;
  // Total size of the bodies being received or handled, without those of at most 64 KiB. When it is full, the body that
  // has been arriving longest is dropped; if all bodies are being handled, the request gets a 503.
  std::size_t max_bodies_bytes = 64 << 20;
  std::size_t max_connections = 256;
  std::size_t max_per_source = 0;  // maximum per address; 0: a quarter. crowd.hpp decides which one is closed
  std::chrono::milliseconds idle_timeout{120'000};    // kube-scheduler keeps idle connections for 90 s
  std::chrono::milliseconds request_timeout{10'000};  // between first byte and last
  unsigned threads = 4;
  TlsFiles tls;            // reloaded when they change
  std::string token_file;  // empty: no token needed
  // Names in addition to those of hosts.hpp. Not checked with TLS, where a browser checks the certificate's name.
  std::vector<std::string> hosts;
  std::set<std::string> open_paths{"/livez", "/readyz"};  // need no token; one that ends in "/" covers everything below
  std::shared_ptr<RefusalCounts> refusals;                // optional
  std::function<void()> turns;                            // called ten times a second by a free worker; optional
};

class Server {
 public:
  static Result<Server> start(const ServerOptions& options, Routes routes, const Log& log);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();  // stops accepting, waits for handlers, joins threads
  std::uint16_t port() const;
  int listener() const;  // descriptor of the listening socket; the server keeps it

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
