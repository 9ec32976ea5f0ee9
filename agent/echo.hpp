// echo: what users and other nodes measure their way to this node with: GET /echo, answered at once.
// Gives    200 "ok", or the caller's `?nonce=` (at most 64 letters, digits, '-' and '_'), which no cache can know
// Errors   400 for another nonce; start: conflict (address in use), malformed (address)
// Threads  any
//
// It tells nothing of the node, so that it may listen where /metrics must not. A TCP connect to it is answered by the
// kernel, and is all that a tcp probe needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/http/server.hpp"

namespace wattle::agent {

struct EchoConfig {
  std::string address = "::";
  std::optional<std::uint16_t> port;  // absent: only beside /metrics
};

http::Response echo(const http::Request& request);
// Takes no body, and any Host: probes use whatever name they know.
http::Route echo_route();

// A server that has nothing but the echo: one thread, 64 connections, each closed after 10 s of silence.
Result<http::Server> serve_echo(const std::string& address, std::uint16_t port, const Log& log);

}  // namespace wattle::agent
