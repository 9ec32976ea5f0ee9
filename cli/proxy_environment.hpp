// proxy_environment: finds the proxy for an API server in the environment, by the rules of Go's clients.
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
// True if a list in the format of NO_PROXY matches the host. An entry is "*", an address, an address range, a domain
// (matches subdomains too) or ".domain" (matches subdomains only), each with an optional port.
bool is_excepted(std::string_view list, const std::string& host, std::uint16_t port);
// Returns the proxy for an origin. Unset: connect directly.
Result<std::optional<http::Proxy>> proxy_for(const http::Origin& origin, const Variable& variable);

}  // namespace wattle::cli
