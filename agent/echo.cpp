#include "agent/echo.hpp"

#include <algorithm>

namespace wattle::agent {

namespace {
constexpr std::size_t kMaxNonce = 64;

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
}  // namespace

http::Response echo(const http::Request& request) {
  const auto found = request.query.find("nonce");
  if (found == request.query.end()) return {200, "text/plain", "ok\n"};
  const std::string& nonce = found->second;
  if (nonce.size() > kMaxNonce || !std::all_of(nonce.begin(), nonce.end(), plain))
    return {400, "text/plain", "invalid nonce (use at most 64 letters, digits, '-' and '_')\n"};
  return {200, "text/plain", nonce + "\n"};
}

http::Route echo_route() {
  http::Route route(echo, 0);
  route.any_host = true;
  return route;
}

Result<http::Server> serve_echo(const std::string& address, std::uint16_t port, const Log& log) {
  http::ServerOptions options;
  options.address = address;
  options.port = port;
  options.threads = 1;
  options.max_connections = 64;
  options.max_header_bytes = 4096;
  options.idle_timeout = std::chrono::seconds(10);
  options.request_timeout = std::chrono::seconds(2);
  return http::Server::start(options, {{"GET /echo", echo_route()}}, log);
}

}  // namespace wattle::agent
