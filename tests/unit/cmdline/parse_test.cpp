#include "common/cmdline/parse.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <array>

using namespace wattle::cmdline;

namespace {

struct Typed {
  CLI::App app{"Does something", "program"};
  std::size_t limit = 0;
  Typed() {
    app.set_version_flag("--version", std::string("1.2.3"));
    app.add_option("--limit", limit, "how many");
  }
  template <std::size_t words>
  std::optional<int> parse(const std::array<const char*, words>& argv, AskedPage asked = asked_man_page) {
    return wattle::cmdline::parse(app, static_cast<int>(words), argv.data(), asked);
  }
};

}  // namespace

TEST_CASE("what was typed goes on to be done, but for help, versions, pages and wrong usage") {
  Typed typed;
  CHECK_FALSE(typed.parse<3>({"program", "--limit", "7"}));
  CHECK(typed.limit == 7);
  CHECK_FALSE(typed.parse<1>({"program"}));
  CHECK(typed.parse<2>({"program", "--help"}) == 0);
  CHECK(typed.parse<2>({"program", "--version"}) == 0);
  CHECK(typed.parse<3>({"program", "--man-page", "1"}) == 0);
  CHECK(typed.parse<2>({"program", "--none"}) == 2);
  CHECK(typed.parse<3>({"program", "--limit", "x"}) == 2);
}

TEST_CASE("a command of a program has a part of its page, and no page") {
  Typed typed;
  CHECK(typed.parse<2>({"command", "--man-part"}, asked_man_part) == 0);
  CHECK(typed.parse<3>({"command", "--man-page", "1"}, asked_man_part) == 2);
}
