// memory_need: a workload's current need of memory, and how much it rises.
#include "provision/requests/memory_need.hpp"

#include <doctest/doctest.h>

#include <string>

namespace wattle::placement {
namespace {

constexpr double kMemorySpan_s = 600, kMemoryDay_s = 86'400, kMemorySpansOfDay = 144;
constexpr double kMemoryMidnight_s = 19'676 * kMemoryDay_s;
constexpr double kMemoryStep = 1.025;

// A constant level, and a spike of ten minutes at noon.
struct ReportedMemory {
  MemoryNeed need;
  double spans = 0;  // since midnight

  void span(double bytes) {
    need.add(bytes, kMemoryMidnight_s + kMemorySpan_s * spans + 1);
    ++spans;
  }
  void days(double days, double level, double spike) {
    for (double left = days * kMemorySpansOfDay; left > 0; --left) {
      const double of_day =
          spans - kMemorySpansOfDay * static_cast<double>(static_cast<int>(spans / kMemorySpansOfDay));
      span(of_day == kMemorySpansOfDay / 2 ? level + spike : level);
    }
  }
  double wanted() const { return need.wanted(3).value_or(0); }
};

TEST_CASE("there is no estimate of memory before three days are known besides today") {
  ReportedMemory reported;
  reported.days(3, 1000, 300);
  CHECK_FALSE(reported.need.wanted(3));
  reported.span(1000);
  REQUIRE(reported.need.wanted(3));
  CHECK(reported.wanted() >= 1300);
  CHECK(reported.wanted() <= 1300 * kMemoryStep);
  reported.days(1, 1000, 300);
  CHECK_FALSE(reported.need.wanted(14));
}

TEST_CASE("a rise is remembered without the level that it started from") {
  ReportedMemory reported;
  reported.days(5, 1000, 300);
  reported.days(2.0 / 24, 600, 0);
  CHECK(reported.wanted() >= 600 + 300);
  CHECK(reported.wanted() <= (600 + 300) * kMemoryStep);
  reported.days(12, 600, 100);
  CHECK(reported.wanted() >= 600 + 300);  // for two full weeks
  reported.days(3, 600, 100);
  CHECK(reported.wanted() <= (600 + 100) * kMemoryStep);
}

TEST_CASE("two low spans of an hour, such as a restart, are neither a level nor a rise") {
  ReportedMemory reported;
  reported.days(5, 1000, 0);
  for (int i = 0; i < 2; ++i) reported.span(200);
  for (int i = 0; i < 6; ++i) {
    reported.span(1000);
    CHECK(reported.wanted() >= 1050);
    CHECK(reported.wanted() <= 1050 * kMemoryStep);
  }
}

TEST_CASE("the current need is covered, and the request is at most slightly above the maximum") {
  ReportedMemory reported;
  reported.days(5, 1000, 0);
  CHECK(reported.wanted() >= 1050);  // a need that never rose may still rise
  reported.span(5000);
  CHECK(reported.wanted() >= 5000);
  for (int i = 0; i < 12; ++i) reported.span(5000);
  CHECK(reported.wanted() >= 5000);
  CHECK(reported.wanted() <= 5000 * 1.25 * kMemoryStep);
}

TEST_CASE("hours without reports are not a level to rise from") {
  ReportedMemory reported;
  reported.days(5, 1000, 0);
  reported.spans += 12;
  for (int i = 0; i < 6; ++i) reported.span(2000);
  reported.days(1, 1000, 0);
  CHECK(reported.wanted() <= 1050 * 1.1);
}

TEST_CASE("a clock that is set back starts from scratch, and one far ahead knows no days") {
  ReportedMemory reported;
  reported.days(5, 1000, 300);
  reported.spans -= 3;
  reported.span(1000);
  CHECK(reported.need.wanted(3));
  reported.spans -= 12;
  reported.span(1000);
  CHECK_FALSE(reported.need.wanted(3));
  ReportedMemory ahead;
  ahead.days(5, 1000, 300);
  ahead.spans += 365 * kMemorySpansOfDay;
  ahead.span(1000);
  CHECK_FALSE(ahead.need.wanted(3));
}

TEST_CASE("a saved estimate of memory continues, and invalid bytes change nothing") {
  ReportedMemory reported;
  reported.days(5.5, 1000, 300);
  PackWriter out;
  reported.need.pack(out);
  const std::string bytes = out.take();
  ReportedMemory again;
  PackReader in(bytes);
  again.need.unpack(in);
  CHECK(in.done());
  again.spans = reported.spans;
  for (ReportedMemory* each : {&reported, &again}) each->days(1, 800, 500);
  CHECK(again.wanted() == reported.wanted());
  for (const std::string& bad : {bytes.substr(0, bytes.size() / 2), std::string(bytes.size(), '\xff')}) {
    PackReader refused(bad);
    again.need.unpack(refused);
    CHECK_FALSE(refused.ok());
    CHECK(again.wanted() == reported.wanted());
  }
}

}  // namespace
}  // namespace wattle::placement
