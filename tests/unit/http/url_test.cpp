#include "common/http/url.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using wattle::Errc;
using wattle::http::parse_url;

TEST_CASE("a URL is split into its server and its target") {
  const auto plain = parse_url("http://shop.example:8080/search?q=a:b#top", "");
  REQUIRE(plain);
  CHECK(plain->origin.host == "shop.example");
  CHECK(plain->origin.port == 8080);
  CHECK_FALSE(plain->origin.tls);
  CHECK(plain->target == "/search?q=a:b");
  CHECK(parse_url("http://shop.example", "")->target == "/");
  CHECK(parse_url("http://shop.example?q=1", "")->target == "/?q=1");
  CHECK(parse_url("http://shop.example", "")->origin.port == 80);
  const auto secure = parse_url("https://[2001:db8::1]/x", "");
  REQUIRE(secure);
  CHECK(secure->origin.host == "2001:db8::1");
  CHECK(secure->origin.port == 443);
  CHECK(secure->origin.tls);
  CHECK(parse_url("http://[::1]:81", "")->origin.port == 81);
  const auto zoned = parse_url("https://[fe80::1%25eth0]:6443", "");
  REQUIRE(zoned);
  CHECK(zoned->origin.host == "fe80::1%eth0");
  CHECK(zoned->origin.url() == "https://[fe80::1]:6443");
}

TEST_CASE("an invalid URL is refused with an example") {
  for (const char* bad :
       {"", "shop.example", "ftp://shop.example", "http://", "http://:80", "http://a:0", "http://a:65536",
        "http://a:x/", "http://me@a/", "http://a b/", "http://a/\r\nX: y", "http://[::1", "http://a/\x7f"}) {
    const auto url = parse_url(bad, "as in http://10.0.0.7/");
    REQUIRE_FALSE(url);
    CHECK(url.error().code == Errc::malformed);
    CHECK(url.error().fix == "as in http://10.0.0.7/");
  }
}

TEST_CASE("any text is a URL with a host, a port and a target of visible characters, or an error") {
  CHECK(rc::check([](const std::string& text) {
    const auto url = parse_url("http://" + text, "");
    if (!url) return;
    RC_ASSERT(!url->origin.host.empty());
    RC_ASSERT(url->origin.port > 0);
    RC_ASSERT(url->target.starts_with('/'));
    for (const char c : url->target) RC_ASSERT(static_cast<unsigned char>(c) > ' ' && c != 0x7f);
  }));
}
