#include "common/cmdline/parse.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <vector>

#include "common/cmdline/usage.hpp"
#include "common/error_line.hpp"

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

TEST_CASE("parsing continues to the program, except for help, versions, pages and wrong usage") {
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

TEST_CASE("a command of a program prints a part of its page, but no whole page") {
  Typed typed;
  CHECK(typed.parse<2>({"command", "--man-part"}, asked_man_part) == 0);
  CHECK(typed.parse<3>({"command", "--man-page", "1"}, asked_man_part) == 2);
}

namespace {
// Returns the error line of a wrong usage.
std::string line_of(std::vector<std::string> words) {
  CLI::App app{"Does something", "program"};
  int limit = 0;
  std::string form, file;
  bool once = false, watch = false;
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--form", form, "how")->check(CLI::IsMember({"table", "json"}));
  auto* nodes = app.add_subcommand("nodes", "shows nodes");
  nodes->fallthrough();
  nodes->add_option("--limit", limit, "how many")->check(CLI::Range(1, 9));
  auto* one = nodes->add_flag("--once", once, "once");
  nodes->add_flag("--watch", watch, "again")->excludes(one);
  auto* keys = app.add_subcommand("keys", "changes keys");
  keys->require_subcommand(1);
  keys->add_subcommand("new", "makes one")->add_option("FILE", file, "where")->required();
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (!is_misuse(app, error)) return "help";
    return wattle::error_line("program", typed_command(app), usage_error(app, error, "program"));
  }
  return "parsed";
}
}  // namespace

TEST_CASE("a number option that is NaN or infinite is refused, and a text of that name is not") {
  const auto refused = [](std::vector<std::string> words) {
    CLI::App app{"about"};
    double share = 1;
    std::string name;
    auto* command = app.add_subcommand("run", "runs");
    command->add_option("--share", share, "a share")->check(CLI::Range(0.0, 1.0));
    command->add_option("--rate", share, "a rate")->type_name("RATE")->check(CLI::Range(0.0, 1.0));
    command->add_option("--name", name, "a name");
    std::reverse(words.begin(), words.end());
    app.parse(words);
    const auto wrong = not_finite(app);
    return wrong ? wrong->subject : "";
  };
  CHECK(refused({"run", "--share", "nan"}) == "--share");
  CHECK(refused({"run", "--share=-NaN"}) == "--share");
  CHECK(refused({"run", "--rate", "nan"}) == "--rate");
  CHECK(refused({"run", "--share", "0.5", "--name", "nan"}) == "");
}

TEST_CASE("a group of commands alone has its help, and anything after it has none") {
  const auto help_of = [](std::vector<std::string> words) -> std::string {
    CLI::App app{"about"};
    app.require_subcommand(1);
    auto* keys = app.add_subcommand("keys", "changes keys");
    keys->require_subcommand(1);
    keys->add_subcommand("new", "makes one");
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return help_of_group(app, error, "program").value_or("");
    }
    return "parsed";
  };
  CHECK(help_of({}).find("Usage: program") != std::string::npos);
  CHECK(help_of({"keys"}).find("Usage: program keys") != std::string::npos);
  CHECK(help_of({"keys"}).find("makes one") != std::string::npos);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"keys", "nwe"}, {"kyes"}, {"keys", "--nosuch"}, {"--nosuch"}})
    CHECK(help_of(words).empty());
}

TEST_CASE("wrong usage names the command, the error and the fix") {
  CHECK(line_of({}) == "program: a command is missing (commands: nodes, keys)");
  CHECK(line_of({"ndoes"}) == "program: unknown command \"ndoes\" (did you mean \"nodes\"? commands: nodes, keys)");
  CHECK(line_of({"ndoes", "--help"}) == line_of({"ndoes"}));
  CHECK(line_of({"--help", "ndoes"}) == line_of({"ndoes"}));
  CHECK(line_of({"keys", "nwe", "--help"}) == line_of({"keys", "nwe"}));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--help"}, {"nodes", "--help"}, {"keys", "--help"}, {"keys", "new", "--help"}})
    CHECK(line_of(words) == "help");
  CHECK(line_of({"clouds"}) == "program: unknown command \"clouds\" (commands: nodes, keys)");
  CHECK(line_of({"keys", "nwe"}) == "program: keys: unknown command \"nwe\" (did you mean \"new\"? commands: new)");
  CHECK(line_of({"nodes", "--limt", "3"}) ==
        "program: nodes: unknown option \"--limt\" (did you mean \"--limit\"? see program nodes --help)");
  CHECK(line_of({"nodes", "--frm=json"}) ==
        "program: nodes: unknown option \"--frm\" (did you mean \"--form\"? see program nodes --help)");
  CHECK(line_of({"nodes", "more"}) == "program: nodes: unexpected argument \"more\" (see program nodes --help)");
  CHECK(line_of({"nodes", "--limit", "0"}) == "program: nodes: --limit: 0 is out of range (use 1 to 9)");
  CHECK(line_of({"nodes", "--limit", "x"}).starts_with("program: nodes: --limit: "));
  CHECK(line_of({"nodes", "--limit"}) == "program: nodes: --limit: the value is missing (see program nodes --help)");
  CHECK(line_of({"nodes", "--form", "jsn"}) ==
        "program: nodes: --form: unknown value \"jsn\" (did you mean \"json\"? use one of table, json)");
  CHECK(line_of({"nodes", "--once", "--watch"}) ==
        "program: nodes: --once cannot be combined with --watch (see program nodes --help)");
  CHECK(line_of({"keys", "new"}) == "program: keys new: FILE is required (see program keys new --help)");
}
