#include "controller/power/kept_output.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "common/base64.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "controller/power/node_power.hpp"

using namespace wattle::controller::power;

TEST_CASE("output is kept on one line, without control sequences") {
  CHECK(kept_output("first\n\n  second \x1b[2J\r\n") == "first; second ?[2J");
  CHECK(kept_output("\n \n").empty());
  CHECK(with_output("failed", "") == "failed");
  CHECK(with_output("failed", "why\n") == "failed: why");
}

TEST_CASE("the end of a long output is kept") {
  const std::string kept = kept_output(std::string(100'000, 'a') + "the cause");
  CHECK(kept.ends_with("the cause"));
  CHECK(kept.starts_with("..."));
  CHECK(kept.size() <= kMostOutputBytes + 3);
}

TEST_CASE("a secret is removed in plain text, JSON and base64, at any position") {
  CHECK(rc::check([] {
    const auto secret = *rc::gen::suchThat(rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')),
                                           [](const std::string& text) { return text.size() >= 4; });
    const auto before = *rc::gen::container<std::string>(rc::gen::just('.'));
    const std::string quoted = wattle::OrderedJson(secret).dump();
    for (const std::string& form : {secret, quoted, wattle::base64_encode(secret)}) {
      const std::string kept = redact(before + form + before + form, {secret});
      RC_ASSERT(kept.find(secret) == std::string::npos || std::string("***\"").find(secret) != std::string::npos);
      RC_ASSERT(kept.find(quoted) == std::string::npos);
      RC_ASSERT(kept.find(wattle::base64_encode(secret)) == std::string::npos);
    }
  }));
}

TEST_CASE("an empty secret changes nothing") { CHECK(redact("text", {""}) == "text"); }
