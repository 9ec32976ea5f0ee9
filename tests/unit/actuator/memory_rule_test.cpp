#include "actuator/memory_rule.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::actuator;

namespace {
constexpr std::uint64_t kMiB = 1 << 20;

struct Hour {
  std::optional<std::int64_t> pass(Duration span) {
    std::optional<std::int64_t> high;
    for (const MonoTime until = now + span; now < until;) {
      now += std::chrono::seconds(5);
      const auto before = last;
      high = rule.observe(use, now, margin);
      if (high && before)
        least_ratio = std::min(least_ratio, static_cast<double>(*high) / static_cast<double>(*before));
      last = high;
    }
    return high;
  }
  MemoryRule rule;
  MemoryUse use{1000 * kMiB, 400 * kMiB, 0, 0, std::uint64_t{0}};
  MonoTime now;
  std::optional<std::int64_t> last;
  double least_ratio = 1, margin = models::provision::kRuleMemory;
};
}  // namespace

TEST_CASE(
    "memory.high starts after ten minutes at usage, and falls by at most 5% a minute to the working set plus 15%") {
  Hour hour;
  CHECK_FALSE(hour.pass(std::chrono::minutes(9)));
  REQUIRE(hour.pass(std::chrono::minutes(2)));
  CHECK(*hour.last >= static_cast<std::int64_t>(900 * kMiB));
  const auto end = hour.pass(std::chrono::minutes(40));
  CHECK(*end == doctest::Approx(460.0 * kMiB));
  CHECK(hour.least_ratio >= 0.95);
}

TEST_CASE("a margin other than 15% is raised to at once, lowered to by 5% a minute, and never cuts the working set") {
  Hour hour;
  hour.pass(std::chrono::minutes(60));
  CHECK(*hour.last == doctest::Approx(460.0 * kMiB));
  hour.margin = 0.6;
  CHECK(*hour.pass(std::chrono::seconds(5)) == doctest::Approx(640.0 * kMiB));
  hour.margin = 0;
  hour.least_ratio = 1;
  hour.pass(std::chrono::minutes(30));
  CHECK(*hour.last == doctest::Approx(400.0 * kMiB));
  CHECK(hour.least_ratio >= 0.95);
  CHECK(hour.rule.used_over_peak() == 1);
  hour.use.working_set_bytes = 420 * kMiB;  // once: the quantile stays
  CHECK(*hour.pass(std::chrono::seconds(5)) == doctest::Approx(420.0 * kMiB));
  hour.use.working_set_bytes = 210 * kMiB;
  hour.pass(std::chrono::seconds(5));
  CHECK(hour.rule.used_over_peak() == 0.5);
  hour.pass(std::chrono::minutes(11));
  CHECK(hour.rule.used_over_peak() == 1);
}

TEST_CASE("a minute's memory is the mean grant, the largest working set, and the number of harmful events") {
  MemoryLooks looks;
  CHECK_FALSE(looks.end_minute(1));
  looks.add({1000, 400, 0, 0, std::uint64_t{0}}, 800, false);
  looks.add({1000, 500, 0, 0, std::uint64_t{0}}, std::nullopt, true);
  const actuation::MinuteOfMemory reported{std::nullopt, 900, 500, 0.25, 0.5};
  CHECK(looks.end_minute(0.25) == reported);
  CHECK_FALSE(looks.end_minute(1));
}

TEST_CASE("pressure, refaults and high events each release the limit at once, for ten minutes") {
  for (int kind = 0; kind < 3; ++kind) {
    Hour hour;
    hour.pass(std::chrono::minutes(30));
    REQUIRE(hour.last);
    if (kind == 0) *hour.use.stall_us += 60'000;
    if (kind == 1) hour.use.refaults += 20'000;
    if (kind == 2) hour.use.high_events += 1;
    CHECK_FALSE(hour.pass(std::chrono::seconds(5)));
    CHECK_FALSE(hour.pass(std::chrono::minutes(9)));
    CHECK(hour.pass(std::chrono::minutes(2)));
  }
}

TEST_CASE("a stall for the workload's own CPU quota does not release the limit; a longer one does") {
  Hour hour;
  hour.pass(std::chrono::minutes(30));
  REQUIRE(hour.last);
  *hour.use.stall_us += 900'000;
  hour.use.used_us += 2'000'000;
  hour.use.throttled_us += 1'000'000;
  CHECK(hour.pass(std::chrono::seconds(5)));
  *hour.use.stall_us += 1'100'000;
  hour.use.used_us += 2'000'000;
  hour.use.throttled_us += 1'000'000;
  CHECK_FALSE(hour.pass(std::chrono::seconds(5)));
}

TEST_CASE("a growing working set raises its limit within a minute") {
  Hour hour;
  hour.pass(std::chrono::minutes(40));
  const auto before = *hour.last;
  hour.use.working_set_bytes = 800 * kMiB;
  hour.pass(std::chrono::minutes(10));
  CHECK(*hour.last > before * 3 / 2);
}
