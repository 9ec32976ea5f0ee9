// proxy: parses the URL of a proxy and opens a tunnel through it to a client's origin.
// Source   URLs in the format of kubeconfigs (proxy-url) and HTTPS_PROXY; RFC 9110 section 9.3.6 (CONNECT), RFC 1928
//          and RFC 1929 (SOCKS 5)
// Errors   malformed (not such a URL; an unexpected answer of the proxy), unsupported (https://), denied (the proxy
//          refuses), unavailable (the proxy cannot reach the origin; the connection breaks), timeout
// Threads  parse_proxy() any; open_tunnel() the connection's owner
#pragma once

#include <boost/system/error_code.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

// "http://USER:PASSWORD@HOST:PORT", "socks5://HOST:PORT"; ports 80 and 1080 where none is named.
Result<Proxy> parse_proxy(const std::string& url);

// A connection to the proxy. `read` waits for at least one byte and returns the number of bytes.
struct ProxyStream {
  std::function<boost::system::error_code(std::string_view bytes)> write;
  std::function<boost::system::error_code(void* into, std::size_t room, std::size_t& count)> read;
};
// Afterwards written data goes to host and port.
Status open_tunnel(const Proxy& proxy, const std::string& host, std::uint16_t port, const ProxyStream& stream);

}  // namespace wattle::http
