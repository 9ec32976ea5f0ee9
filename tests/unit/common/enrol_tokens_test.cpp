#include "common/enrol_tokens.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

using namespace wattle;

namespace {
EnrolToken token_of(const std::string& word, const std::string& node, std::int64_t expires_s = 100) {
  EnrolToken token;
  token.hash = enrol_hash(word);
  token.node = node;
  token.expires_s = expires_s;
  return token;
}
}  // namespace

TEST_CASE("tokens are long, differ, and are stored only as hashes") {
  std::set<std::string> made;
  for (int i = 0; i < 50; ++i) {
    const auto token = make_enrol_token();
    REQUIRE(token);
    CHECK(token->size() >= 64);
    CHECK(made.insert(*token).second);
    CHECK(with_enrol_token("", token_of(*token, "n")).find(*token) == std::string::npos);
  }
}

TEST_CASE("a file of tokens is read as it was written, whatever else it contains") {
  EnrolToken used = token_of("b", "node-2", 200);
  used.replace = true;
  used.used_by = "KEY";
  used.used_s = 150;
  std::string text = "# made in spring\n\n";
  text = with_enrol_token(text, token_of("a", "node-1"));
  text = with_enrol_token(text, used);
  CHECK(parse_enrol_tokens(text, "t").value() == std::vector<EnrolToken>{token_of("a", "node-1"), used});
  CHECK(without_enrol_token(text, used.hash) == with_enrol_token("# made in spring\n\n", token_of("a", "node-1")));
}

TEST_CASE("an invalid line is named, and no line of the file is used") {
  for (const std::string& line :
       std::vector<std::string>{"abc node 1", std::string(64, 'a') + " node", std::string(64, 'a') + " node soon",
                                std::string(64, 'G') + " node 1", std::string(64, 'a') + " node 1 used KEY",
                                std::string(64, 'a') + " node 1 often"}) {
    const auto parsed = parse_enrol_tokens("# fine\n" + line + "\n", "tokens");
    REQUIRE(!parsed);
    CHECK(parsed.error().subject == "tokens:2");
  }
}

TEST_CASE("a change of one token keeps every other line") {
  CHECK(rc::check([] {
    std::vector<std::string> lines;
    std::string text;
    const int count = *rc::gen::inRange(0, 12);
    for (int i = 0; i < count; ++i) {
      const int kind = *rc::gen::inRange(0, 3);
      std::string line = kind == 0   ? "# remark " + std::to_string(i)
                         : kind == 1 ? ""
                                     : enrol_hash(std::to_string(i)) + "  n 1 # x";
      lines.push_back(line);
      text += line + "\n";
    }
    const EnrolToken mine = token_of("mine", "n");
    const std::string with = with_enrol_token(text, mine);
    RC_ASSERT(with.starts_with(text));
    EnrolToken used = mine;
    used.used_by = "KEY";
    RC_ASSERT(without_enrol_token(with_enrol_token(with, used), mine.hash) == text);
  }));
}
