#include "cli/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

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

namespace {
// The width of a terminal, as long as this object exists.
struct Narrow {
  explicit Narrow(std::size_t columns, bool wide = false) { fit_output(columns, wide); }
  Narrow(const Narrow&) = delete;
  Narrow& operator=(const Narrow&) = delete;
  ~Narrow() { fit_output(0, false); }
};
}  // namespace

TEST_CASE("a terminal that is narrower than a table hides its last columns and names them") {
  const Table table{{"NODE", ">WATTS", "STATE", ">AGE"}, {{std::string(20, 'n'), "1234.5", "awake", "3m05s"}}};
  {
    const Narrow terminal(42);
    CHECK(to_text(table, false).find("AGE\n") != std::string::npos);
  }
  {
    const Narrow terminal(40);
    CHECK(to_text(table, false) == "NODE                   WATTS  STATE\n" + std::string(20, 'n') +
                                       "  1234.5  awake\n(hidden: AGE; see -o wide)\n");
  }
  const Narrow terminal(20);
  CHECK(to_text(table, false).ends_with("(hidden: STATE, AGE; see -o wide)\n"));
  const Narrow all(20, true);
  CHECK(to_text(table, false).find("AGE\n") != std::string::npos);
}

TEST_CASE("in a narrow terminal a last column of text stays, and wraps") {
  const Narrow terminal(60);
  const Table table{{"NODE", ">SAVES", ">MOVES", ">BREAK-EVEN", "WHY"},
                    {{"worker-1", "1234.5 kJ", "3", "2m05s", "it has pods that no other node has the room for now"}}};
  CHECK(to_text(table, false) ==
        "NODE          SAVES  MOVES  WHY\n"
        "worker-1  1234.5 kJ      3  it has pods that no other node\n"
        "                            has the room for now\n"
        "(hidden: BREAK-EVEN; see -o wide)\n");
}

TEST_CASE("text wraps at the width of a narrow terminal, and at 100 columns of a wide one") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word ";
  const auto widest = [&text] {
    const std::string shown = wrapped(text, 2);
    std::size_t most = 0;
    for (std::size_t from = 0; from < shown.size(); from = shown.find('\n', from) + 1)
      most = std::max(most, shown.find('\n', from) - from);
    return most;
  };
  {
    const Narrow terminal(60);
    CHECK(widest() == 56);
  }
  const Narrow terminal(200);
  CHECK(widest() == 96);
}
