#include "common/cmdline/outline.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>

using namespace wattle::cmdline;

TEST_CASE("an outline has all declarations: names, types, choices, ranges, defaults, operands and commands") {
  CLI::App app{"Does something", "program"};
  app.footer("see elsewhere");
  std::string output = "table", file;
  int limit = 20;
  bool force = false;
  std::vector<std::string> words, pair;
  app.add_option("-o,--output", output, "how")->check(CLI::IsMember({"table", "json"}));
  app.add_option("--hidden", file, "never shown")->group("");
  CLI::App* sub = app.add_subcommand("sub", "Does a part");
  sub->add_option("--limit", limit, "how many")->check(CLI::Range(1, 1000))->capture_default_str();
  sub->add_option("--config", file, "what file")->type_name("FILE")->required();
  sub->add_flag("--force", force, "all the same");
  sub->add_option("FROM TO", pair, "where")->type_name("DIR")->expected(2);
  sub->add_option("WORD", words, "the rest");

  const Outline program = outline_of(app);
  CHECK(program.name == "program");
  CHECK(program.about == "Does something");
  CHECK(program.footer == "see elsewhere");
  REQUIRE(program.options.size() == 2);
  CHECK(program.options[0].names == std::vector<std::string>{"-h", "--help"});
  CHECK(program.options[0].most == 0);
  CHECK(program.options[1].names == std::vector<std::string>{"-o", "--output"});
  CHECK(program.options[1].choices == std::vector<std::string>{"table", "json"});
  CHECK(program.options[1].type == "TEXT");
  REQUIRE(program.commands.size() == 1);
  const Outline& part = program.commands[0];
  CHECK(part.name == "sub");
  REQUIRE(part.options.size() == 4);
  CHECK(part.options[1].range == "INT in [1 - 1000]");
  CHECK(part.options[1].standard == "20");
  CHECK(part.options[1].choices.empty());
  CHECK(part.options[2].is_file());
  CHECK(part.options[2].required);
  CHECK(part.options[3].type == "");
  REQUIRE(part.operands.size() == 2);
  CHECK(part.operands[0].label == "FROM TO");
  CHECK(part.operands[0].is_folder());
  CHECK(part.operands[0].most == 2);
  CHECK_FALSE(part.operands[0].endless);
  CHECK(part.operands[1].endless);
}
