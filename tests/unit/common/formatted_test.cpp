#include "common/formatted.hpp"

#include <doctest/doctest.h>

using namespace wattle;

TEST_CASE("a formatted text is never truncated") {
  const std::string longest(5000, 'x');
  CHECK(formatted("%s %d%%", longest.c_str(), 7) == longest + " 7%");
  CHECK(formatted("%s", "").empty());
}

TEST_CASE("a number has the requested decimals, also the longest double") {
  CHECK(fixed(2.345, 1) == "2.3");
  CHECK(fixed(-0.5, 0) == "-0");
  CHECK(fixed(1e308, 2).size() == 312);
}

TEST_CASE("a padded text is right-aligned, and a wider one stays whole") {
  CHECK(padded("12", 5) == "   12");
  CHECK(padded("123456", 5) == "123456");
}
