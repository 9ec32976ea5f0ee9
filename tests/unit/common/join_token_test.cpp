#include "common/join_token.hpp"

#include <doctest/doctest.h>

#include "common/base64.hpp"

using namespace wattle;

namespace {

JoinToken some_token() {
  return {"controller.example",
          7463,
          7460,
          std::string(40, 'k'),
          std::string(64, 'a'),
          "wattle-enrol-" + std::string(64, '0')};
}

}  // namespace

TEST_CASE("bytes of any length survive a round trip through base64") {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    CHECK(base64_decode(base64_encode(bytes)) == bytes);
    bytes += static_cast<char>(length * 7);
  }
  CHECK(base64_encode("light w") == "bGlnaHQgdw==");  // RFC 4648
}

TEST_CASE("a token is read as it was written, with white space around it") {
  const JoinToken token = some_token();
  CHECK(parse_join_token(to_text(token)).value() == token);
  CHECK(parse_join_token("  " + to_text(token) + "\n").value() == token);
  CHECK(token.telemetry_endpoint() == "tcp://controller.example:7460");
  JoinToken numeric = token;
  numeric.host = "2001:db8::1";
  CHECK(parse_join_token(to_text(numeric)).value().telemetry_endpoint() == "tcp://[2001:db8::1]:7460");
}

TEST_CASE("a token with a missing or changed character is refused") {
  const std::string text = to_text(some_token());
  for (std::size_t at = 0; at < text.size(); ++at) {
    CHECK_FALSE(parse_join_token(text.substr(0, at)));
    std::string other = text;
    other[at] = other[at] == 'A' ? 'B' : 'A';
    CHECK_FALSE(parse_join_token(other));
  }
}

TEST_CASE("a token with invalid words is refused, and not repeated in the error") {
  const std::string key(40, 'k'), print(64, 'a');
  for (const std::string& words :
       {std::string(), std::string("1"), std::string("1 a 1 1 ") + key + " " + print,
        "1 a\nb 1 1 " + key + " " + print + " s", "1 -a 1 1 " + key + " " + print + " s",
        "1 a 0 1 " + key + " " + print + " s", "1 a 65536 1 " + key + " " + print + " s",
        "1 a 1 1 " + key + "k " + print + " s", "1 a 1 1 " + key + " " + std::string(64, 'G') + " s",
        "2 a 1 1 " + key + " " + print + " s"}) {
    const auto token = parse_join_token(sealed_join_text(words));
    REQUIRE_FALSE(token);
    CHECK_FALSE(token.error().fix.empty());
    CHECK(token.error().message().find(key) == std::string::npos);
  }
}
