// daily_need: the need at a time of day: known after days, scaled by today, kept over a restart.
#include "provision/requests/daily_need.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace wattle::placement {
namespace {

constexpr double kDay_s = 86'400, kNeedStart_s = 20'000 * kDay_s;
constexpr double kCovered = 0.93;

// 1 core before noon and 3 after, times `level`.
void live(DailyNeed& need, double from_s, double to_s, double level = 1) {
  for (double at_s = from_s; at_s < to_s; at_s += 60)
    need.add(level * (std::fmod(at_s, kDay_s) < kDay_s / 2 ? 1 : 3), kCovered, at_s);
}

}  // namespace

TEST_CASE("a time of day is known once enough days have covered it") {
  DailyNeed need;
  CHECK_FALSE(need.wanted(kCovered, 3, kNeedStart_s));
  live(need, kNeedStart_s, kNeedStart_s + 2.9 * kDay_s);
  CHECK_FALSE(need.wanted(kCovered, 3, kNeedStart_s + 2.9 * kDay_s));
  live(need, kNeedStart_s + 2.9 * kDay_s, kNeedStart_s + 3.4 * kDay_s);
  const auto morning = need.wanted(kCovered, 3, kNeedStart_s + 3.4 * kDay_s);
  REQUIRE(morning.has_value());
  CHECK(*morning >= 1);
  CHECK(*morning < 1.1);
  CHECK(*need.wanted(kCovered, 3, kNeedStart_s + 3.49 * kDay_s) >= 3);  // a quarter of an hour before noon
  CHECK_FALSE(need.wanted(kCovered, 8, kNeedStart_s + 3.4 * kDay_s));
}

TEST_CASE("a lower or higher day than before scales the next hour, within bounds") {
  const auto wanted_at = [](double level) {
    DailyNeed need;
    live(need, kNeedStart_s, kNeedStart_s + 5 * kDay_s);
    live(need, kNeedStart_s + 5 * kDay_s, kNeedStart_s + 5.4 * kDay_s, level);
    return *need.wanted(kCovered, 3, kNeedStart_s + 5.4 * kDay_s);
  };
  CHECK(wanted_at(0.8) == doctest::Approx(0.8).epsilon(0.1));
  CHECK(wanted_at(1.3) == doctest::Approx(1.3).epsilon(0.1));
  CHECK(wanted_at(0.1) >= 0.7);  // no lower, whatever the last hours were
  CHECK(wanted_at(4) >= 4);      // no less than the current need
}

TEST_CASE("days without reports are unknown, and a clock that is set back starts from scratch") {
  DailyNeed need;
  live(need, kNeedStart_s, kNeedStart_s + 5 * kDay_s);
  live(need, kNeedStart_s + 30 * kDay_s, kNeedStart_s + 30.5 * kDay_s);
  CHECK_FALSE(need.wanted(kCovered, 1, kNeedStart_s + 30.5 * kDay_s));
  live(need, kNeedStart_s, kNeedStart_s + 4 * kDay_s);
  CHECK(need.wanted(kCovered, 3, kNeedStart_s + 4 * kDay_s).has_value());
  need.add(1, kCovered, -5);
  need.add(1, kCovered, std::nan(""));
  CHECK_FALSE(need.wanted(kCovered, 0, -1).has_value());
}

TEST_CASE("known days survive a restart; other bytes are refused") {
  DailyNeed need, again;
  live(need, kNeedStart_s, kNeedStart_s + 4 * kDay_s);
  PackWriter out;
  need.pack(out);
  const std::string bytes = out.take();
  PackReader in(bytes);
  again.unpack(in);
  CHECK(in.done());
  CHECK(again.wanted(kCovered, 3, kNeedStart_s + 4 * kDay_s) == need.wanted(kCovered, 3, kNeedStart_s + 4 * kDay_s));
  PackReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  again.unpack(cut);
  CHECK_FALSE(cut.ok());
}

}  // namespace wattle::placement
