// proxies: their URLs, and the exchanges that open a tunnel, byte by byte.
#include "common/http/proxy.hpp"

#include <doctest/doctest.h>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

using namespace wattle;
using namespace wattle::http;
using boost::system::error_code;

namespace {

// A proxy that answers with these bytes, one at each read, whatever is written; then it is silent.
struct Script {
  std::string answer, written;
  std::size_t at = 0;
  ProxyStream stream() {
    return {[this](std::string_view bytes) {
              written += bytes;
              return error_code();
            },
            [this](void* into, std::size_t room, std::size_t& count) {
              if (at == answer.size() || room == 0) return error_code(boost::beast::error::timeout);
              *static_cast<char*>(into) = answer[at++];
              count = 1;
              return error_code();
            }};
  }
  Status open(const std::string& url, const std::string& host = "api.example") {
    const auto proxy = parse_proxy(url);
    if (!proxy) FAIL(proxy.error().message());
    return open_tunnel(*proxy, host, 6443, stream());
  }
};

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

}  // namespace

TEST_CASE("a proxy's URL names its kind, host, port and login") {
  const auto plain = parse_proxy("http://proxy.example");
  REQUIRE(plain);
  CHECK(plain->kind == Proxy::Kind::http);
  CHECK(plain->host == "proxy.example");
  CHECK(plain->port == 80);
  CHECK(plain->user.empty());
  const auto full = parse_proxy("socks5://ann:p%40ss%3A@[::1]:9050/");
  REQUIRE(full);
  CHECK(full->kind == Proxy::Kind::socks5);
  CHECK(full->host == "::1");
  CHECK(full->port == 9050);
  CHECK(full->user == "ann");
  CHECK(full->password == "p@ss:");
  CHECK(parse_proxy("socks5h://[::1]")->port == 1080);
  CHECK(parse_proxy("https://proxy.example").error().code == Errc::unsupported);
  for (const char* wrong : {"", "proxy.example", "ftp://x", "http://", "http://x:0", "http://x:70000", "http://a b",
                            "http://%4@x", "http://u%zz@x"}) {
    CAPTURE(wrong);
    CHECK(parse_proxy(wrong).error().code == Errc::malformed);
  }
  // Passwords are in no message.
  CHECK(parse_proxy("https://ann:secret@x").error().message().find("secret") == std::string::npos);
  CHECK(parse_proxy("http://ann:secret@x:0").error().message().find("secret") == std::string::npos);
}

TEST_CASE("CONNECT opens a tunnel, with the login that the URL has") {
  Script script{"HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\n", {}};
  REQUIRE(script.open("http://ann:word@proxy:3128"));
  CHECK(
      script.written ==
      "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\nProxy-Authorization: Basic YW5uOndvcmQ=\r\n\r\n");
  Script of_ipv6{"HTTP/1.0 200 OK\r\n\r\n", {}};
  REQUIRE(of_ipv6.open("http://proxy", "2001:db8::1"));
  CHECK(of_ipv6.written == "CONNECT [2001:db8::1]:6443 HTTP/1.1\r\nHost: [2001:db8::1]:6443\r\n\r\n");
}

TEST_CASE("a proxy that opens no tunnel is named, with its reason") {
  const auto code = [](std::string answer) { return Script{std::move(answer), {}}.open("http://proxy").error().code; };
  CHECK(code("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") == Errc::denied);
  CHECK(code("HTTP/1.1 403 Forbidden\r\n\r\n") == Errc::denied);
  CHECK(code("HTTP/1.1 502 Bad Gateway\r\n\r\n") == Errc::unavailable);
  CHECK(code("SSH-2.0-OpenSSH\r\n\r\n") == Errc::malformed);
  CHECK(code("HTTP/1.1 200") == Errc::timeout);
  CHECK(code(std::string(64 << 10, 'x')) == Errc::malformed);
  const Error error = Script{"HTTP/1.1 407 No\r\n\r\n", {}}.open("http://proxy").error();
  CHECK(error.subject == "proxy proxy:80");
  CHECK(error.fix.find("USER:PASSWORD@") != std::string::npos);
}

TEST_CASE("SOCKS 5 opens a tunnel by name and by address") {
  const std::string bound = bytes({5, 0, 0, 1, 10, 0, 0, 1, 4, 5});
  Script by_name{bytes({5, 0}) + bound, {}};
  REQUIRE(by_name.open("socks5://proxy"));
  CHECK(by_name.written == bytes({5, 1, 0, 5, 1, 0, 3, 11}) + "api.example" + bytes({6443 >> 8, 6443 & 0xff}));
  Script by_address{bytes({5, 0, 5, 0, 0, 3, 2, 'a', 'b', 4, 5}), {}};
  REQUIRE(by_address.open("socks5://proxy", "192.0.2.1"));
  CHECK(by_address.written == bytes({5, 1, 0, 5, 1, 0, 1, 192, 0, 2, 1, 6443 >> 8, 6443 & 0xff}));
  CHECK(by_address.at == by_address.answer.size());  // nothing of it is left to what comes
  Script with_login{bytes({5, 2, 1, 0}) + bound, {}};
  REQUIRE(with_login.open("socks5://ann:word@proxy"));
  CHECK(with_login.written.starts_with(bytes({5, 2, 0, 2, 1, 3}) + "ann" + bytes({4}) + "word"));
}

TEST_CASE("a SOCKS proxy that refuses is named, with its reason") {
  const auto error = [](std::string answer, const char* url = "socks5://proxy") {
    return Script{std::move(answer), {}}.open(url).error();
  };
  CHECK(error(bytes({5, 0xff})).code == Errc::denied);
  CHECK(error(bytes({5, 2})).code == Errc::denied);  // no login was offered
  CHECK(error(bytes({5, 2, 1, 1}), "socks5://ann:word@proxy").code == Errc::denied);
  CHECK(error("HTTP/1.1 400").code == Errc::malformed);
  CHECK(error(bytes({5, 0, 5, 2, 0, 1})).code == Errc::denied);
  const Error refused = error(bytes({5, 0, 5, 5, 0, 1}));
  CHECK(refused.code == Errc::unavailable);
  CHECK(refused.what == "cannot connect to api.example:6443: it the host refused the connection (SOCKS reply 5)");
  CHECK(error(bytes({5, 0, 5, 99, 0, 1})).code == Errc::unavailable);
  CHECK(error(bytes({5, 0, 5, 0, 0, 9})).code == Errc::malformed);
  CHECK(error(bytes({5})).code == Errc::timeout);
  CHECK(Script{{}, {}}.open("socks5://proxy", std::string(300, 'x')).error().code == Errc::out_of_range);
}
