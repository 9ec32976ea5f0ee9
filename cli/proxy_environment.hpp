// proxy_environment: the proxy that the environment names for an API server, as Go's clients read it.
// Source   HTTPS_PROXY (https_proxy) and NO_PROXY (no_proxy); golang.org/x/net/http/httpproxy
// Errors   as http::parse_proxy
// Threads  pure
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::cli {

using Variable = std::function<std::optional<std::string>(const char*)>;

// "localhost", 127.0.0.0/8, ::1.
bool is_loopback(const std::string& host);
// Whether a list as NO_PROXY has it names the host: "*", an address, a range of them, a domain and all below it, ".domain" for those below it
// alone; each with a port or without.
bool is_excepted(std::string_view list, const std::string& host, std::uint16_t port);
// Absent: the origin is reached directly.
Result<std::optional<http::Proxy>> proxy_for(const http::Origin& origin, const Variable& variable);

}  // namespace wattle::cli
