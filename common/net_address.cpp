#include "common/net_address.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "common/parse.hpp"

namespace wattle {

namespace {
constexpr std::string_view kTcp = "tcp://";

int look_up(const std::string& host, std::uint16_t port, int flags, std::vector<NetAddress>& out) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  // AI_ADDRCONFIG is left out: it hides addresses of a family that only loopback has.
  hints.ai_flags = AI_NUMERICSERV | flags;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, ::freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    NetAddress address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    if (std::find(out.begin(), out.end(), address) == out.end()) out.push_back(address);
  }
  return 0;
}
}  // namespace

std::string NetAddress::host() const {
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(get(), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

std::uint16_t NetAddress::port() const {
  if (storage.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

std::string NetAddress::endpoint() const {
  const std::string address = host();
  return std::string(kTcp) + (ipv6() ? "[" + address + "]" : address) + ":" + std::to_string(port());
}

bool NetAddress::operator==(const NetAddress& other) const {
  return length == other.length && std::memcmp(&storage, &other.storage, length) == 0;
}

std::optional<NetAddress> numeric_address(const std::string& host, std::uint16_t port) {
  std::vector<NetAddress> found;
  if (look_up(host, port, AI_NUMERICHOST, found) != 0 || found.empty()) return std::nullopt;
  return found.front();
}

Result<std::vector<NetAddress>> resolve_host(const std::string& host, std::uint16_t port) {
  std::vector<NetAddress> found;
  const int error = look_up(host, port, 0, found);
  if (error == EAI_NONAME || error == EAI_NODATA || (error == 0 && found.empty()))
    return fail(Errc::not_found, host, "the name has no address",
                "check that it resolves on this machine: getent ahosts " + host);
  if (error != 0) return fail(Errc::unavailable, host, ::gai_strerror(error), "check that a name server is reachable");
  return found;
}

std::optional<HostPort> parse_tcp_endpoint(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return std::nullopt;
  endpoint.remove_prefix(kTcp.size());
  const auto colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse::integer<std::uint16_t>(endpoint.substr(colon + 1));
  std::string_view host = endpoint.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!port || host.empty()) return std::nullopt;
  return HostPort{std::string(host), *port};
}

}  // namespace wattle
