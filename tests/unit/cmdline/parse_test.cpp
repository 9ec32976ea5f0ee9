#include "common/cmdline/parse.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <vector>

#include "common/cmdline/wrong_command.hpp"

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

TEST_CASE("an unknown command is wrong usage, with --help too, and the closest command is named") {
  const auto told = [](const std::vector<std::string>& words) -> std::optional<std::string> {
    CLI::App app{"Does something", "program"};
    app.require_subcommand(1);
    app.fallthrough();
    for (const char* name : {"nodes", "pods", "decisions"}) app.add_subcommand(name, "shows them");
    CLI::App* const keys = app.add_subcommand("keys", "of all");
    keys->require_subcommand(1);
    keys->add_subcommand("allow", "a key");
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      return wrong_command(app, error);
    }
    return std::nullopt;
  };
  const std::string all = "one of nodes, pods, decisions, keys)";
  CHECK(told({"nodse"}) == "program: 'nodse' is not a command (did you mean 'nodes'? " + all);
  CHECK(told({"nodse", "--help"}) == told({"nodse"}));
  CHECK(told({"--help", "nodse"}) == told({"nodse"}));
  CHECK(told({"desicions", "-h"}) == "program: 'desicions' is not a command (did you mean 'decisions'? " + all);
  CHECK(told({"clouds", "--help"}) == "program: 'clouds' is not a command (" + all);
  CHECK(told({}) == "program: a command is missing (" + all);
  CHECK(told({"keys", "alow", "--help"}) ==
        "program keys: 'alow' is not a command (did you mean 'allow'? one of allow)");
  CHECK(told({"keys"}) == "program keys: a command is missing (one of allow)");
  for (const std::vector<std::string>& well : std::vector<std::vector<std::string>>{
           {"nodes"}, {"--help"}, {"keys", "--help"}, {"nodes", "--help"}, {"keys", "allow"}})
    CHECK_FALSE(told(well));
}

TEST_CASE("a word is close to a command that at most a third of its letters are away from") {
  const std::vector<std::string> known{"run", "status", "restore"};
  CHECK(closest("runn", known) == "run");
  CHECK(closest("stauts", known) == "status");
  CHECK(closest("resotre", known) == "restore");
  CHECK_FALSE(closest("ruin it", known));
  CHECK_FALSE(closest("", known));
  CHECK_FALSE(closest(std::string(10'000, 'r'), known));
}
