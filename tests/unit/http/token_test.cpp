#include "common/http/token.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "common/dir.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::http;

namespace {
Result<Token> token_of(const std::string& content, unsigned mode = 0400) {
  const wattle::test::TempDir dir;
  const std::string path = dir.file("token");
  REQUIRE(write_file_atomically(path, content, mode));
  return Token::load(path);
}
}  // namespace

TEST_CASE("a token admits its own word after Bearer and nothing else") {
  const auto token = token_of("correct-horse-battery\n");
  REQUIRE(token.has_value());
  CHECK(token->admits("Bearer correct-horse-battery"));
  CHECK(token->admits("bearer correct-horse-battery"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "correct-horse-battery", "Basic correct-horse-battery",
                            "Bearer correct-horse-batterx", "Bearer correct-horse-batter", "Bearer c",
                            "Bearer correct-horse-batterycorrect-horse-battery", "Bearer correct-horse-battery "})
    CHECK_FALSE_MESSAGE(token->admits(wrong), wrong);
}

TEST_CASE("a token file that others may read, or that has no long word, is refused with its fix") {
  for (const unsigned mode : {0440U, 0404U, 0644U}) {
    const auto open = token_of("correct-horse-battery", mode);
    REQUIRE_FALSE(open);
    CHECK(open.error().code == Errc::denied);
    CHECK_FALSE(open.error().fix.empty());
  }
  for (const char* content : {"", "short", "two words of many characters",
                              "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"})
    CHECK_FALSE(token_of(content));
  CHECK(Token::load("/nonexistent/token").error().code == Errc::not_found);
}

TEST_CASE("a pass is valid until its end, for the token that made it, and does not reveal it") {
  const auto token = token_of("correct-horse-battery"), other = token_of("another-horse-battery");
  REQUIRE(token.has_value());
  const WallTime end{std::chrono::seconds(2000)}, before{std::chrono::seconds(1999)};
  const std::string pass = token->pass(end), cookie = "wattle_pass=" + pass;
  CHECK(pass.find("correct") == std::string::npos);
  CHECK(token->admits_pass(cookie, before));
  CHECK(token->admits_pass("a=b; " + cookie + "; c", before));
  CHECK_FALSE(token->admits_pass(cookie, end));
  CHECK_FALSE(other->admits_pass(cookie, before));
  const std::string longer = "wattle_pass=9" + pass, cut = cookie.substr(0, cookie.size() - 1);
  for (const std::string& wrong :
       {std::string(), std::string("wattle_pass"), std::string("wattle_pass="), std::string("wattle_pass=2000-"),
        "xwattle_pass=" + pass, pass, longer, cut, cut + "0x", std::string("wattle_pass=correct-horse-battery")})
    CHECK_FALSE_MESSAGE(token->admits_pass(wrong, before), wrong);
}
