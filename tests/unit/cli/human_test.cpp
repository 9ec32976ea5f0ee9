#include "cli/human.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace wattle::cli;

TEST_CASE("an absent value is a dash, whatever its unit") {
  const std::optional<double> none;
  for (const std::string& text :
       {number(none, 2), count(none), bytes(none), bytes_per_s(none), percent(none), milliseconds(none),
        microseconds(none), joules(none), money(none, "EUR"), grams(none), age(none), watts(none, "rapl"), utc(none)})
    CHECK(text == "-");
}

TEST_CASE("bytes have the largest binary prefix below 1024") {
  CHECK(bytes(0) == "0 B");
  CHECK(bytes(1023) == "1023 B");
  CHECK(bytes(73400320) == "70.0 MiB");
  CHECK(bytes(1048575) == "1.0 MiB");
  CHECK(bytes(2147483648.0) == "2.0 GiB");
  CHECK(bytes_per_s(1200) == "1.2 KiB/s");
}

TEST_CASE("watts have their source beside them, and an estimate is marked") {
  CHECK(watts(61.2, "rapl") == "61.2 W rapl");
  CHECK(watts(12.34, "estimated") == "12.3 W est");
  CHECK(watts(812.5) == "812.5 W");
}

TEST_CASE("money has its currency, and grams become kilograms") {
  CHECK(money(12.346, "EUR") == "12.35 EUR");
  CHECK(money(0.00512, "EUR") == "0.0051 EUR");
  CHECK(money(-3.0, "USD") == "-3.00 USD");
  CHECK(money(0.0, "EUR") == "0.00 EUR");
  CHECK(money(0.00002, "EUR") == "<0.0001 EUR");
  CHECK(grams(0.0) == "0 g");
  CHECK(grams(0.001) == "<0.01 g");
  CHECK(grams(0.031) == "0.03 g");
  CHECK(grams(530.4) == "530 g");
  CHECK(grams(1240) == "1.2 kg");
}

TEST_CASE("ages use the two largest units") {
  CHECK(age(410) == "410ms");
  CHECK(age(999.7) == "1s");
  CHECK(age(12'300) == "12s");
  CHECK(age(185'000) == "3m05s");
  CHECK(age(7'500'000) == "2h05m");
  CHECK(age(273'600'000) == "3d04h");
}

TEST_CASE("ratios, times and joules have their units") {
  CHECK(percent(0) == "0%");
  CHECK(percent(0.004) == "0.4%");
  CHECK(percent(0.41) == "41%");
  CHECK(milliseconds(4.14) == "4.1 ms");
  CHECK(microseconds(140) == "140 us");
  CHECK(microseconds(2345) == "2.3 ms");
  CHECK(joules(5321.7) == "5.3 kJ");
  CHECK(number(-0.0001, 2) == "0.00");
  CHECK(number(-0.25, 2) == "-0.25");
  CHECK(utc(1732166431e9) == "2024-11-21 05:20:31Z");
}

TEST_CASE("extreme numbers do not break the texts") {
  const double huge = std::numeric_limits<double>::max(), inf = std::numeric_limits<double>::infinity();
  CHECK(number(huge, 2).size() > 300);
  CHECK(number(inf, 2) == "-");
  CHECK(age(huge) == "-");
  CHECK(utc(huge) == "-");
  CHECK(utc(-1) == "-");
  CHECK(bytes(-2048) == "-2.0 KiB");
}
