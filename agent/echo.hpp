// echo: the endpoint for latency probes of users and other nodes. Answers GET /echo at once.
// Gives    200 "ok", or the caller's `?nonce=` (at most 64 letters, digits, '-' and '_'), which no cache can know
// Errors   400 for another nonce; start: conflict (address in use), malformed (address)
// Threads  any
//
// It reveals nothing about the node, so that it may listen where /metrics must not. The kernel answers a TCP connect,
// which is all that a tcp probe needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/http/server.hpp"

namespace wattle::agent {

struct EchoConfig {
  std::string address = "::";
  std::optional<std::uint16_t> port;  // no value: only on the port of /metrics
};

http::Response echo(const http::Request& request);
// Accepts no body, and any Host, because probes may use any name.
http::Route echo_route();

// Serves only the echo: one thread, 64 connections, each closed after 10 s of silence.
Result<http::Server> serve_echo(const std::string& address, std::uint16_t port, const Log& log);

}  // namespace wattle::agent
