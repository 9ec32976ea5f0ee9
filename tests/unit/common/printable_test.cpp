#include "common/printable.hpp"

#include <doctest/doctest.h>

#include "common/parse.hpp"

using namespace wattle;

TEST_CASE("control characters become question marks, and letters of any script stay") {
  CHECK(printable("a\x1b[2J\n\t\x7f") == "a?[2J???");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(printable_lines("a\x1b\nb\n") == "a?\nb\n");
  const std::string fine = "worker-1 \xc3\xa4 \xe6\xbc\xa2 \xf0\x9f\x94\x8b e\xcc\x81 \xd7\xa9";
  CHECK(printable(fine) == fine);
}

TEST_CASE("characters that change the direction, are invisible or have no width are replaced") {
  for (const char32_t hidden : {0xADU,    0x34FU,  0x61CU,  0x115FU, 0x180EU, 0x200BU, 0x200CU, 0x200DU,
                                0x200EU,  0x200FU, 0x2028U, 0x2029U, 0x202AU, 0x202DU, 0x202EU, 0x2060U,
                                0x2066U,  0x2069U, 0x3164U, 0xFE0FU, 0xFEFFU, 0xFFA0U, 0xFFF9U, 0xE000U + 0xD2000U,
                                0xE0001U, 0xE0100U}) {
    CAPTURE(static_cast<std::uint32_t>(hidden));
    std::string text = "a";
    append_utf8(text, hidden);
    CHECK(printable(text + "b") == "a?b");
  }
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
  CHECK(printable("a\xff") == "a\xef\xbf\xbd");
  CHECK(printable("\xed\xa0\x80") == "\xef\xbf\xbd");          // a surrogate
  CHECK(printable("\xe2\x82") == "\xef\xbf\xbd");              // truncated
  CHECK(printable("\xc0\x9b") == "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
}

TEST_CASE("the output is printable UTF-8, and a second pass does not change it") {
  std::string all;
  for (char32_t c = 0; c < 0x110000; c += 7) append_utf8(all, c);
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string once = printable(all);
  CHECK(parse::is_utf8(once));
  CHECK(printable(once) == once);
}
