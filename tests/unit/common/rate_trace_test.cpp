// rate_trace: the rates of a file, or an error that names the line.
#include "common/rate_trace.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle;

TEST_CASE("rates are read one per line and second, with any line ends") {
  const auto trace = parse_rates("10\r\n 2.5 \n0\n\n", "some/where/day.txt");
  REQUIRE(trace);
  CHECK(trace->name == "day.txt");
  CHECK(trace->rates_rps == std::vector<double>{10, 2.5, 0});
}

TEST_CASE("an invalid rate is named with its line, and an empty file is refused") {
  for (const char* bad : {"1\n2\nx\n", "1\n2\n-1\n", "1\n2\n1e7\n", "1\n2\nnan\n", "1\n2\n3 4\n"}) {
    const auto trace = parse_rates(bad, "day.txt");
    REQUIRE_FALSE(trace);
    CHECK(trace.error().subject == "day.txt:3");
  }
  CHECK_FALSE(parse_rates("\n\n", "day.txt"));
}

TEST_CASE("any bytes give rates within bounds or an error") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto trace = parse_rates(bytes, "bytes");
    if (!trace) return;
    RC_ASSERT(!trace->rates_rps.empty());
    for (const double rate : trace->rates_rps) RC_ASSERT(rate >= 0 && rate <= kMostRateRps);
  }));
}
