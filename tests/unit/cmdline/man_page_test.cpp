#include "common/cmdline/man_page.hpp"

#include <doctest/doctest.h>

using namespace wattle::cmdline;

namespace {
bool reports(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }
const Parameter kHelp{.names = {"-h", "--help"}, .text = "Print help", .most = 0};
}  // namespace

TEST_CASE("a manual page has the program, its options, and each command with its own options") {
  Outline program{"wattle-x", "measures", "Exit codes: 0 well", {kHelp}, {}, {}};
  program.options.push_back(
      {.names = {"-o", "--output"}, .type = "TEXT", .label = "TEXT", .choices = {"a", "b"}, .text = "how"});
  Outline part{"sub", "Does a part", "", {kHelp}, {}, {}};
  part.options.push_back({.names = {"--limit"},
                          .type = "INT",
                          .label = "INT",
                          .range = "INT in [1 - 5]",
                          .text = "how many",
                          .standard = "3"});
  part.operands.push_back({.type = "TEXT", .label = "NAME", .text = "whose", .required = true});
  program.commands.push_back(part);
  const std::string page = man_page(program, "8", "1.2.3");
  CHECK(reports(page, "\n.TH WATTLE\\-X 8 \"\" \"Wattle 1.2.3\" \"Wattle\"\n"));
  CHECK(reports(page, ".SH NAME\nwattle\\-x \\- measures\n"));
  CHECK(reports(page, "\\fBwattle\\-x\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR\n"));
  CHECK(reports(page, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIa|\\:b\\fR\nhow\n"));
  CHECK(reports(page, ".SS \\fBwattle\\-x sub\\fR [\\fIOPTIONS\\fR] \\fINAME\\fR\nDoes a part.\n"));
  CHECK(reports(page, "\\fB\\-\\-limit\\fR \\fIINT\\fR\nhow many (INT in [1 \\- 5]; default: 3)\n"));
  CHECK(reports(page, ".SH NOTES\nExit codes: 0 well\n"));
  SUBCASE("a command's --help is not repeated") { CHECK(page.find("Print help") == page.rfind("Print help")); }
  SUBCASE("a page printed in parts is the same page") {
    CHECK(page ==
          man_head(program, "8", "1.2.3") + man_command(program.commands[0], "wattle-x sub") + man_tail(program));
  }
}

TEST_CASE("roff requests are escaped in a page") {
  const Outline program{"x", ".so /etc/passwd\n'x \\n(.t `a' ~ ^ -", "", {kHelp}, {}, {}};
  const std::string page = man_page(program, "1", "1");
  CHECK(reports(page, "\\&.so /etc/passwd\n\\&\\(aqx \\(rsn(.t \\(gaa\\(aq \\(ti \\(ha \\-\n"));
}
