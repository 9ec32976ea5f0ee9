// request: a request has exactly the configured bytes, and no second one can be smuggled into it.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "load/users.hpp"

using namespace wattle;
using namespace wattle::load;

TEST_CASE("a request has host, length and the added headers") {
  const auto get = request_bytes({"shop.example", 8080, {}}, "GET", "/a?b=1", {"X-Who: me"}, "");
  REQUIRE(get);
  CHECK(get->starts_with("GET /a?b=1 HTTP/1.1\r\nHost: shop.example:8080\r\nX-Who: me\r\n"));
  CHECK(get->ends_with("\r\n\r\n"));
  CHECK(get->find("Content-Length") == std::string::npos);
  const auto post = request_bytes({"::1", 80, {}}, "POST", "/", {}, "hello");
  REQUIRE(post);
  CHECK(post->find("Host: [::1]:80\r\n") != std::string::npos);
  CHECK(post->find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(post->ends_with("\r\n\r\nhello"));
  CHECK(request_bytes({"a", 80, {}}, "POST", "/", {}, "")->find("Content-Length: 0\r\n") != std::string::npos);
}

TEST_CASE("an invalid header or method is refused, and so is one that is already set") {
  for (const char* bad : {"", "no colon", ": empty", "A b: c", "A: b\r\nX: y", "A: b\n", "Host: other",
                          "content-LENGTH: 9", "Transfer-Encoding: chunked"})
    CHECK_FALSE(request_bytes({"a", 80, {}}, "GET", "/", {bad}, ""));
  for (const char* bad : {"", "GET /", "GET\r\n"}) CHECK_FALSE(request_bytes({"a", 80, {}}, bad, "/", {}, ""));
}

TEST_CASE("for any headers, the header ends where the body begins") {
  CHECK(rc::check([](const std::string& name, const std::string& value, const std::string& body) {
    const auto bytes = request_bytes({"a", 80, {}}, "POST", "/", {name + ":" + value}, body);
    if (!bytes) return;
    const std::size_t end = bytes->find("\r\n\r\n");
    RC_ASSERT(end != std::string::npos);
    RC_ASSERT(bytes->substr(end + 4) == body);
  }));
}
