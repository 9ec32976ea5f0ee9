#include "common/parse.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

using namespace wattle;

TEST_CASE("an integer is the whole text") {
  CHECK(parse::u64("18446744073709551615") == 18446744073709551615ULL);
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "18446744073709551616"})
    CHECK_FALSE(parse::u64(text));
  CHECK(parse::integer<int>("-7") == -7);
  CHECK(parse::integer<int>("ff", 16) == 255);
  CHECK_FALSE(parse::integer<std::uint8_t>("256"));
}

TEST_CASE("a real number is finite and the whole text") {
  CHECK(parse::real("1e3") == 1000);
  CHECK(parse::real("-0.5") == -0.5);
  for (const char* text : {"", "x", "1x", "nan", "inf", "-inf", "1e999", " 1"}) CHECK_FALSE(parse::real(text));
}

TEST_CASE("text is trimmed, and split at blanks or at a character") {
  using Words = std::vector<std::string_view>;
  CHECK(parse::trim(" \t a b\r\n") == "a b");
  CHECK(parse::trim("  ") == "");
  CHECK(parse::fields("  cpu  1\t2 ") == Words{"cpu", "1", "2"});
  CHECK(parse::fields("").empty());
  CHECK(parse::split("a,,b,", ',') == Words{"a", "", "b", ""});
  CHECK(parse::split("", ',') == Words{""});
  Words lines;
  parse::for_each_line("one\n\ntwo", [&](std::string_view line) { lines.push_back(line); });
  CHECK(lines == Words{"one", "", "two"});
}

TEST_CASE("a keyed number is found by its whole key") {
  const char* text = "usage_usec_total 9\nusage_usec 12\nuser_usec 7\n";
  CHECK(parse::keyed_u64(text, "usage_usec") == 12U);
  CHECK(parse::keyed_u64(text, "user_usec") == 7U);
  CHECK_FALSE(parse::keyed_u64(text, "system_usec"));
  CHECK_FALSE(parse::keyed_u64("usage_usec x\n", "usage_usec"));
}

TEST_CASE("a quantity is parsed as in Kubernetes") {
  CHECK(parse::quantity("250m").value() == doctest::Approx(0.25));
  CHECK(parse::quantity("1.5") == 1.5);
  CHECK(parse::quantity("1e3") == 1000.0);
  CHECK(parse::quantity("64Mi") == 64.0 * 1024 * 1024);
  CHECK(parse::quantity("1G") == 1e9);
  CHECK(parse::quantity("100n").value() == doctest::Approx(1e-7));
  CHECK(parse::quantity("0") == 0.0);
  CHECK(parse::quantity("2E") == 2e18);
  CHECK(parse::quantity("1E3") == 1000.0);
  CHECK(parse::quantity("1Ei") == 1152921504606846976.0);
  CHECK(parse::quantity("+2") == 2.0);
  CHECK(parse::quantity("+.5Ki") == 512.0);
  CHECK(parse::quantity("500e-3") == 0.5);
  CHECK(parse::quantity("1e-400") == 0.0);
  for (const char* text : {"", "-1", "-1m", "1x", "m", "1 Gi", "1GiB", "nan", "inf", "1..5", "1m5", "+", "+-1", "++1",
                           "1e3Ki", "1Zi", "E", "-1e400"})
    CHECK_FALSE(parse::quantity(text));
}

TEST_CASE("a quantity above 2^63-1 is capped as in Kubernetes, and a duration above a double is refused") {
  const std::string huge(308, '9');
  for (const auto& text :
       {huge, huge + "Pi", huge + "0", std::string("1e30"), std::string("1e999"), std::string("99Ei")})
    CHECK(parse::quantity(text) == 9223372036854775807.0);
  CHECK_FALSE(parse::duration_s(huge + "h"));
}

TEST_CASE("a duration has a unit, or is in seconds") {
  CHECK(parse::duration_s("250ms") == 0.25);
  CHECK(parse::duration_s("1.5s") == 1.5);
  CHECK(parse::duration_s("2m") == 120.0);
  CHECK(parse::duration_s("1h") == 3600.0);
  CHECK(parse::duration_s("7d") == 7 * 86'400.0);
  CHECK(parse::duration_s("500us").value() == doctest::Approx(0.0005));
  CHECK(parse::duration_s("0") == 0.0);
  for (const char* text : {"", "s", "3", "0.5", "-1s", "1 s", "1w", "1sec", "ms"}) CHECK_FALSE(parse::duration_s(text));
}

TEST_CASE("parsers accept any text and give a finite, non-negative value, or none") {
  CHECK(rc::check([](const std::string& text) {
    for (const auto value : {parse::quantity(text), parse::duration_s(text)})
      if (value) RC_ASSERT(*value >= 0 && *value <= std::numeric_limits<double>::max());
  }));
  CHECK(rc::check([] {
    const auto number = *rc::gen::inRange<std::uint32_t>(0, 1'000'000);
    RC_ASSERT(parse::duration_s(std::to_string(number) + "ms").value() == number * 1e-3);
    RC_ASSERT(parse::quantity(std::to_string(number) + "Ki").value() == number * 1024.0);
  }));
}
