#include "common/http/target.hpp"

#include <doctest/doctest.h>

using wattle::http::parse_target;
using wattle::http::percent_encode;

TEST_CASE("a target is split at the question mark and decoded") {
  const auto target = parse_target("/api/v1/a%20b%2Fc?pod=web%2F1&limit=20&flag&text=a+b#part");
  REQUIRE(target);
  CHECK(target->path == "/api/v1/a b/c");
  CHECK(target->query.size() == 4);
  CHECK(target->query.at("pod") == "web/1");
  CHECK(target->query.at("limit") == "20");
  CHECK(target->query.at("flag").empty());
  CHECK(target->query.at("text") == "a b");
}

TEST_CASE("a plus in a path stays a plus") { CHECK(parse_target("/a+b")->path == "/a+b"); }

TEST_CASE("a broken escape, a NUL and a target without a slash are refused") {
  for (const char* text : {"/%", "/%2", "/%zz", "/%00", "/a?b=%4", "/a?%g1=1", "", "*", "http://host/", "?a=b"})
    CHECK_FALSE(parse_target(text));
  CHECK_FALSE(parse_target(std::string("/a\0b", 4)));
}

TEST_CASE("parse_target reads what percent_encode writes") {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  const auto target = parse_target("/x?value=" + percent_encode(all));
  REQUIRE(target);
  CHECK(target->query.at("value") == all);
}
