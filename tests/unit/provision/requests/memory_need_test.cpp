// What a workload needs of memory now, and how much more it came to need.
#include "provision/requests/memory_need.hpp"

#include <doctest/doctest.h>

#include <string>

namespace wattle::placement {
namespace {

constexpr double kMemorySpan_s = 600, kMemoryDay_s = 86'400, kMemorySpansOfDay = 144;
constexpr double kMemoryMidnight_s = 19'676 * kMemoryDay_s;
constexpr double kMemoryStep = 1.03;

// A level, and a spike of ten minutes at noon.
struct MemoryTold {
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
  double wanted() const { return need.wanted(3, {}).value_or(0); }
};

TEST_CASE("nothing is said of memory before three days are known beside today") {
  MemoryTold told;
  told.days(3, 1000, 300);
  CHECK_FALSE(told.need.wanted(3, {}));
  told.span(1000);
  REQUIRE(told.need.wanted(3, {}));
  CHECK(told.wanted() >= 1330);
  CHECK(told.wanted() <= 1330 * kMemoryStep);
  told.days(1, 1000, 300);
  CHECK_FALSE(told.need.wanted(14, {}));
}

TEST_CASE("a rise is remembered, and the level that it began from is not") {
  MemoryTold told;
  told.days(5, 1000, 300);
  told.days(2.0 / 24, 600, 0);
  CHECK(told.wanted() >= 600 + 330);
  CHECK(told.wanted() <= (600 + 330) * kMemoryStep);
  told.days(12, 600, 100);
  CHECK(told.wanted() >= 600 + 300);  // two weeks, not less
  told.days(3, 600, 100);
  CHECK(told.wanted() <= (600 + 110) * kMemoryStep);
}

TEST_CASE("what is needed now is covered, and no more than a little beyond the most is asked for") {
  MemoryTold told;
  told.days(5, 1000, 0);
  CHECK(told.wanted() >= 1050);  // what never rose may
  told.span(5000);
  CHECK(told.wanted() >= 5000);
  for (int i = 0; i < 12; ++i) told.span(5000);
  CHECK(told.wanted() >= 5000);
  CHECK(told.wanted() <= 5000 * 1.15 * kMemoryStep);
}

TEST_CASE("hours that were not heard are no level to rise from") {
  MemoryTold told;
  told.days(5, 1000, 0);
  told.spans += 12;
  for (int i = 0; i < 6; ++i) told.span(2000);
  told.days(1, 1000, 0);
  CHECK(told.wanted() <= 1050 * 1.1);
}

TEST_CASE("a clock that is set back begins anew, and one far ahead knows no days") {
  MemoryTold told;
  told.days(5, 1000, 300);
  told.spans -= 3;
  told.span(1000);
  CHECK(told.need.wanted(3, {}));
  told.spans -= 12;
  told.span(1000);
  CHECK_FALSE(told.need.wanted(3, {}));
  MemoryTold ahead;
  ahead.days(5, 1000, 300);
  ahead.spans += 365 * kMemorySpansOfDay;
  ahead.span(1000);
  CHECK_FALSE(ahead.need.wanted(3, {}));
}

TEST_CASE("what is kept of memory goes on, and bytes that are none change nothing") {
  MemoryTold told;
  told.days(5.5, 1000, 300);
  PackWriter out;
  told.need.pack(out);
  const std::string bytes = out.take();
  MemoryTold again;
  PackReader in(bytes);
  again.need.unpack(in);
  CHECK(in.done());
  again.spans = told.spans;
  for (MemoryTold* each : {&told, &again}) each->days(1, 800, 500);
  CHECK(again.wanted() == told.wanted());
  for (const std::string& bad : {bytes.substr(0, bytes.size() / 2), std::string(bytes.size(), '\xff')}) {
    PackReader refused(bad);
    again.need.unpack(refused);
    CHECK_FALSE(refused.ok());
    CHECK(again.wanted() == told.wanted());
  }
}

}  // namespace
}  // namespace wattle::placement
