#include "common/http/proxy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/error.hpp>
#include <charconv>
#include <optional>

#include "common/base64.hpp"
#include "common/parse.hpp"

namespace wattle::http {
namespace {

using boost::system::error_code;

constexpr std::size_t kMostHead = 16 << 10;
constexpr std::size_t kMostName = 255;  // of SOCKS 5: host, user and password
constexpr const char* kExample = "for example http://proxy.example:3128 or socks5://127.0.0.1:1080";

std::string authority_of(const std::string& host, std::uint16_t port) {
  return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// "%40" is '@'.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

class Tunnel {
 public:
  Tunnel(const Proxy& proxy, const ProxyStream& stream) : name_(name_of(proxy)), proxy_(proxy), stream_(stream) {}

  Status by_connect(const std::string& to) {
    std::string request = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
    if (!proxy_.user.empty() || !proxy_.password.empty())
      request += "Proxy-Authorization: Basic " + base64_encode(proxy_.user + ":" + proxy_.password) + "\r\n";
    WATTLE_CHECK(write(request + "\r\n"));
    // The origin is silent until TLS begins, so no data follows the head.
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      if (head.size() > kMostHead) return fail(Errc::malformed, name_, "the header of its answer has no end");
      WATTLE_TRY(const std::string more, read_some());
      head += more;
    }
    const auto words = parse::fields(std::string_view(head).substr(0, head.find('\r')));
    if (words.size() < 2 || !words[0].starts_with("HTTP/1."))
      return fail(Errc::malformed, name_, "its answer to CONNECT is not HTTP", kExample);
    const std::string status(words[1]);
    if (status.size() == 3 && status.front() == '2') return {};
    const bool refused = status == "401" || status == "403" || status == "407";
    return fail(refused ? Errc::denied : Errc::unavailable, name_, "returned " + status + " to CONNECT " + to,
                status == "407" ? "add USER:PASSWORD@ to the proxy's URL" : "");
  }

  Status by_socks(const std::string& host, std::uint16_t port) {
    const bool password = !proxy_.user.empty() || !proxy_.password.empty();
    if (host.size() > kMostName || proxy_.user.size() > kMostName || proxy_.password.size() > kMostName)
      return fail(Errc::out_of_range, name_, "a name is longer than 255 bytes, the limit of SOCKS 5");
    WATTLE_CHECK(write(password ? std::string("\x05\x02\x00\x02", 4) : std::string("\x05\x01\x00", 3)));
    WATTLE_TRY(const std::string method, read_whole(2));
    if (method[0] != 5) return fail(Errc::malformed, name_, "is not a SOCKS 5 proxy", kExample);
    if (method[1] == 2 && password) {
      WATTLE_CHECK(write("\x01" + counted(proxy_.user) + counted(proxy_.password)));
      WATTLE_TRY(const std::string verdict, read_whole(2));
      if (verdict[1] != 0) return fail(Errc::denied, name_, "rejected the user and password of its URL");
    } else if (method[1] != 0) {
      return fail(Errc::denied, name_, "requires a login", "add USER:PASSWORD@ to the proxy's URL");
    }
    WATTLE_CHECK(write(std::string("\x05\x01\x00", 3) + address(host) + static_cast<char>(port >> 8U) +
                       static_cast<char>(port & 0xffU)));
    WATTLE_TRY(const std::string reply, read_whole(4));
    if (reply[1] != 0) return refused(static_cast<unsigned char>(reply[1]), authority_of(host, port));
    WATTLE_TRY(const std::size_t rest, address_bytes(reply[3]));
    auto bound = read_whole(rest + 2);
    if (!bound) return forward_error(bound);
    return {};
  }

 private:
  static std::string name_of(const Proxy& proxy) { return "proxy " + authority_of(proxy.host, proxy.port); }
  static std::string counted(const std::string& text) { return static_cast<char>(text.size()) + text; }

  // Type and address, as RFC 1928 has it.
  static std::string address(const std::string& host) {
    std::array<char, 16> bytes{};
    if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return "\x01" + std::string(bytes.data(), 4);
    if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return "\x04" + std::string(bytes.data(), 16);
    return "\x03" + counted(host);
  }

  // Returns the length of the bound address, which follows its type.
  Result<std::size_t> address_bytes(char type) {
    if (type == 1) return std::size_t{4};
    if (type == 4) return std::size_t{16};
    if (type != 3) return fail(Errc::malformed, name_, "returned an unknown address type");
    WATTLE_TRY(const std::string length, read_whole(1));
    return std::size_t{static_cast<unsigned char>(length[0])};
  }

  Status refused(unsigned code, const std::string& to) const {
    static constexpr std::array<const char*, 9> kWhy{"",
                                                     "the proxy failed",
                                                     "the proxy does not allow the connection",
                                                     "the network is unreachable",
                                                     "the host is unreachable",
                                                     "the host refused the connection",
                                                     "the host did not answer in time",
                                                     "the proxy does not support CONNECT",
                                                     "the proxy does not support the address type"};
    const char* const why = code < kWhy.size() ? kWhy[code] : "unknown reason";
    return fail(code == 2 ? Errc::denied : Errc::unavailable, name_,
                "cannot connect to " + to + ": it " + why + " (SOCKS reply " + std::to_string(code) + ")");
  }

  Status write(const std::string& bytes) { return checked(stream_.write(bytes)); }
  Result<std::string> read_some() {
    std::array<char, 1024> room{};
    std::size_t count = 0;
    WATTLE_CHECK(checked(stream_.read(room.data(), room.size(), count)));
    return std::string(room.data(), count);
  }
  Result<std::string> read_whole(std::size_t bytes) {
    std::string out;
    std::array<char, kMostName + 2> room{};
    while (out.size() < bytes) {
      std::size_t count = 0;
      WATTLE_CHECK(checked(stream_.read(room.data(), std::min(room.size(), bytes - out.size()), count)));
      out.append(room.data(), count);
    }
    return out;
  }
  Status checked(error_code error) const {
    if (!error) return {};
    if (error == boost::beast::error::timeout) return fail(Errc::timeout, name_, "no answer in time");
    return fail(Errc::unavailable, name_, error.message(), "check that it is a proxy of that type");
  }

  std::string name_;
  const Proxy& proxy_;
  const ProxyStream& stream_;
};

}  // namespace

Result<Proxy> parse_proxy(const std::string& url) {
  Proxy proxy;
  std::string_view rest = url;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    proxy.port = 80;
  } else if (rest.starts_with("socks5://") || rest.starts_with("socks5h://")) {
    rest.remove_prefix(rest.find("//") + 2);
    proxy.kind = Proxy::Kind::socks5;
    proxy.port = 1080;
  } else if (rest.starts_with("https://")) {
    return fail(Errc::unsupported, "proxy " + url.substr(0, url.find('@') == std::string::npos ? url.npos : 8),
                "connections to a proxy over TLS are not supported", kExample);
  } else {
    return fail(Errc::malformed, "proxy", "its URL starts with neither http:// nor socks5://", kExample);
  }
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const std::size_t colon = login.find(':');
    const auto user = unescaped(login.substr(0, colon));
    const auto password = unescaped(colon == std::string_view::npos ? std::string_view() : login.substr(colon + 1));
    if (!user || !password) return fail(Errc::malformed, "proxy", "its login contains an invalid %-escape", kExample);
    proxy.user = *user;
    proxy.password = *password;
    rest.remove_prefix(at + 1);
  }
  const bool bracketed = rest.starts_with('[');
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && (!bracketed || rest.find(']') < colon)) {
    const auto port = parse::integer<std::uint16_t>(rest.substr(colon + 1));
    if (!port || *port == 0) return fail(Errc::malformed, "proxy", "its URL has no port from 1 to 65535", kExample);
    proxy.port = *port;
    rest = rest.substr(0, colon);
  }
  if (bracketed && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty() || rest.find_first_of("@[] ") != std::string_view::npos)
    return fail(Errc::malformed, "proxy", "its URL has no valid host name", kExample);
  proxy.host = rest;
  return proxy;
}

Status open_tunnel(const Proxy& proxy, const std::string& host, std::uint16_t port, const ProxyStream& stream) {
  Tunnel tunnel(proxy, stream);
  return proxy.kind == Proxy::Kind::http ? tunnel.by_connect(authority_of(host, port)) : tunnel.by_socks(host, port);
}

}  // namespace wattle::http
