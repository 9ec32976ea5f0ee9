#include "cli/table.hpp"

#include <doctest/doctest.h>

using namespace wattle::cli;

TEST_CASE("columns are as wide as their widest cell, numbers are right-aligned, and no line ends in a space") {
  const Table table{{"NODE", ">CPU", "NOTE"}, {{"a", "1.25", ""}, {"worker-1", "10", "x"}}};
  CHECK(to_text(table, false) ==
        "NODE       CPU  NOTE\n"
        "a         1.25\n"
        "worker-1    10  x\n");
}

TEST_CASE("alignment counts terminal columns, not bytes") {
  const Table table{{{"NAME"}, {"V", Align::right}},
                    {{"käse", "1"},
                     {"日本", "2"},
                     {"e\xcc\x81"
                      "abc",
                      "3"}}};
  CHECK(to_text(table, false) ==
        "NAME  V\nkäse  1\n日本  2\ne\xcc\x81"
        "abc  3\n");
}

TEST_CASE("a short row has empty cells, and an overlong one is truncated") {
  const Table table{{{"A"}, {"B"}}, {{"1"}, {"1", "2", "3"}, {}}};
  CHECK(to_text(table, false) == "A  B\n1\n1  2\n\n");
}

TEST_CASE("colour surrounds the text and does not affect alignment") {
  const Table table{{{"A"}, {"B"}}, {{Cell("x", Tone::bad), "y"}, {"long", "y"}}};
  CHECK(to_text(table, true) == "A     B\n\x1b[31mx\x1b[0m     y\nlong  y\n");
}

TEST_CASE("control characters in a cell do not reach the terminal") {
  CHECK(to_text({{{"A"}}, {{"a\x1b[2J\nb\x7f"}}}, false) == "A\na?[2J?b?\n");
}
