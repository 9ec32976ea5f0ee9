#include "common/token_claims.hpp"

#include <doctest/doctest.h>

#include "common/base64.hpp"
#include "tests/unit/common/jwt.hpp"

using namespace wattle;
using wattle::test::jwt;

TEST_CASE("a token's subject, audiences and expiry are read without its signature") {
  const auto claims = unverified_claims(jwt(R"({"sub":"a","aud":["x","wattle"],"exp":1767225600})"));
  REQUIRE(claims);
  CHECK(claims->subject == "a");
  CHECK(claims->audiences == std::vector<std::string>{"x", "wattle"});
  CHECK(claims->expires_s == 1767225600);
  CHECK(unverified_claims(jwt(R"({"sub":"a","aud":"wattle","exp":1})"))->audiences.front() == "wattle");
  CHECK(unverified_claims(jwt(R"({"sub":"a","exp":1})"))->audiences.empty());
}

TEST_CASE("a text without the claims is no token") {
  for (const char* claims : {R"({"aud":["wattle"],"exp":1})", R"({"sub":1,"exp":1})", R"({"sub":"a"})",
                             R"({"sub":"a","exp":"1"})", R"({"sub":"a","exp":0})", R"({"sub":"a","exp":-1})",
                             R"({"sub":"a","exp":1.5})", R"({"sub":"a","exp":18446744073709551615})", "[]", "null", ""})
    CHECK_FALSE(unverified_claims(jwt(claims)));
  const std::string good = jwt(R"({"sub":"a","exp":1})");
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), std::string("a.b.c"), good + ".x",
        "x" + good.substr(0, good.rfind('.')), good.substr(0, good.find('.') + 1) + "=." + "s"})
    CHECK_FALSE(unverified_claims(text));
}

TEST_CASE("base64 of tokens has another alphabet and no padding") {
  CHECK(base64url_decode("-_8") == std::string("\xfb\xff"));
  CHECK_FALSE(base64url_decode("+/8"));
  CHECK_FALSE(base64url_decode("-_8="));
  CHECK(base64url_decode("")->empty());
}
