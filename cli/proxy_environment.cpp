#include "cli/proxy_environment.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "common/http/proxy.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

struct Address {
  std::array<unsigned char, 16> bytes{};
  std::size_t count = 0;  // 4 or 16
};

std::optional<Address> address_of(const std::string& text) {
  Address out;
  if (::inet_pton(AF_INET, text.c_str(), out.bytes.data()) == 1) out.count = 4;
  if (out.count == 0 && ::inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) out.count = 16;
  return out.count > 0 ? std::optional(out) : std::nullopt;
}

bool begins_alike(const Address& a, const Address& b, std::size_t bits) {
  if (a.count != b.count || bits > 8 * a.count) return false;
  for (std::size_t i = 0; i < bits; ++i) {
    const auto mask = static_cast<unsigned char>(0x80U >> (i % 8));
    if (((a.bytes[i / 8] ^ b.bytes[i / 8]) & mask) != 0) return false;
  }
  return true;
}

// "10.0.0.0/8"
bool in_range(std::string_view range, const Address& address) {
  const std::size_t slash = range.find('/');
  if (slash == std::string_view::npos) return false;
  const auto first = address_of(std::string(range.substr(0, slash)));
  const auto bits = parse::integer<std::uint16_t>(range.substr(slash + 1));
  return first && bits && begins_alike(*first, address, *bits);
}

// Removes port and brackets from "host:6443", "[::1]:6443" or "::1". Returns false if it names another port.
bool takes_port(std::string_view& entry, std::uint16_t port) {
  const bool bracketed = entry.starts_with('[') && entry.find(']') != std::string_view::npos;
  const std::size_t colon = entry.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracketed ? entry.find(']') < colon : entry.find(':') == colon);
  const auto number = has_port ? parse::integer<std::uint16_t>(entry.substr(colon + 1)) : std::optional(port);
  if (has_port) entry = entry.substr(0, colon);
  if (bracketed) entry = entry.substr(1, entry.size() - 2);
  return number && *number == port;
}

}  // namespace

bool is_loopback(const std::string& host) {
  const auto address = address_of(host);
  if (!address) return lower_case(host) == "localhost";
  if (address->count == 4) return address->bytes[0] == 127;
  return begins_alike(*address, *address_of("::1"), 128);
}

bool is_excepted(std::string_view list, const std::string& host, std::uint16_t port) {
  const std::string name = lower_case(host);
  const auto address = address_of(name);
  for (const std::string_view each : parse::split(list, ',')) {
    const std::string lower = lower_case(parse::trim(each));
    std::string_view entry = lower;
    if (entry.empty()) continue;
    if (entry == "*") return true;
    if (address && in_range(entry, *address)) return true;
    if (!takes_port(entry, port)) continue;
    if (address) {
      const auto other = address_of(std::string(entry));
      if (other && begins_alike(*other, *address, 8 * address->count)) return true;
      continue;
    }
    if (entry.starts_with("*.")) entry.remove_prefix(1);
    if (entry.starts_with('.') ? name.ends_with(entry) : name == entry || name.ends_with("." + std::string(entry)))
      return true;
  }
  return false;
}

Result<std::optional<http::Proxy>> proxy_for(const http::Origin& origin, const Variable& variable) {
  const auto value = [&](const char* upper, const char* lower) {
    const auto found = variable(upper);
    return (found && !found->empty() ? found : variable(lower)).value_or("");
  };
  const std::string url = value("HTTPS_PROXY", "https_proxy");
  if (!origin.tls || url.empty() || is_loopback(origin.host) ||
      is_excepted(value("NO_PROXY", "no_proxy"), origin.host, origin.port))
    return std::optional<http::Proxy>();
  WATTLE_TRY(http::Proxy proxy, http::parse_proxy(url.find("://") == std::string::npos ? "http://" + url : url));
  return std::optional<http::Proxy>(std::move(proxy));
}

}  // namespace wattle::cli
