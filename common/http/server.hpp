// server: an HTTP/1.1 server for a few endpoints.
// Source   Boost.Beast; Beast's and OpenSSL's only home is this folder
// Errors   conflict (address in use), malformed (address), those of tls.hpp and token.hpp
// Threads  handlers run on `threads` worker threads, several at once; they must be thread safe and may block for
// milliseconds
//
// Connections  stay open for `idle_timeout`, before the first request for `request_timeout`; crowd.hpp says which one is closed when full
// Refusals     400, 401, 404, 405, 408, 413, 421, 431, 500 and 503, each with one line that names the reason, and counted. The header alone
//              decides Host, token, path, method, length and a route's own check: a body is read only of a request that passes
// Answers      have a Content-Length; a stream has none and ends with its connection. A 401 asks for a bearer token, a handler's too, and
//              comes later with each wrong token (guess_delay.hpp)
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

// The longest body of a route that declares none.
inline constexpr std::size_t kSmallestBodyBytes = 512;

// A path's handler, and the limits of what reaches it.
struct Route {
  // Answers a request by its header, before its body is read; nullopt lets it pass.
  using Check = std::function<std::optional<Response>(const Request&)>;

  Route() = default;
  template <class F, class = std::enable_if_t<std::is_invocable_r_v<Response, F&, const Request&>>>
  Route(F answer, std::size_t most_body_bytes = kSmallestBodyBytes, Check header_check = {})
      : handler(std::move(answer)), max_body_bytes(most_body_bytes), check(std::move(header_check)) {}

  Handler handler;
  std::size_t max_body_bytes = kSmallestBodyBytes;
  Check check;
  bool any_host = false;  // for probes of other machines, which use any name; its answer holds no data
};
// "METHOD /path"; a path that ends in "/" matches everything below it, but "/" itself alone. GET routes answer HEAD too.
using Routes = std::map<std::string, Route>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 picks one
  std::size_t max_header_bytes = 16 << 10;
  // Of all requests that are being read or answered, without those of at most 64 KiB, as they arrive. When it is full, the body that has
  // been arriving longest gives way; a request that finds only bodies at work gets a 503.
  std::size_t max_bodies_bytes = 64 << 20;
  std::size_t max_connections = 256;
  std::size_t max_per_source = 0;  // of them from one address; 0: a quarter. crowd.hpp says who gives way
  std::chrono::milliseconds idle_timeout{120'000};    // kube-scheduler keeps idle connections for 90 s
  std::chrono::milliseconds request_timeout{10'000};  // from first byte to last
  unsigned threads = 4;
  TlsFiles tls;            // read again when they change
  std::string token_file;  // empty: no token is needed
  // Names besides those of hosts.hpp, without TLS: with it, a browser compares the certificate's.
  std::vector<std::string> hosts;
  std::set<std::string> open_paths{"/livez", "/readyz"};  // that ask for no token; with a "/" at its end all below
  std::shared_ptr<RefusalCounts> refusals;                // null: nobody looks
  std::function<void()> turns;  // called each half second by a worker that is free; empty: nobody looks
};

class Server {
 public:
  static Result<Server> start(const ServerOptions& options, Routes routes, const Log& log);
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
