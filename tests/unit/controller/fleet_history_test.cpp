#include "controller/web/fleet_history.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace wattle::controller;

namespace {

constexpr std::int64_t kBegin_s = 1'700'000'400;  // a whole hour

std::array<float, FleetHistory::kValues.size()> row_of(float measured_w) {
  std::array<float, FleetHistory::kValues.size()> row{};
  row.fill(std::numeric_limits<float>::quiet_NaN());
  row[0] = measured_w;
  return row;
}

// One sample per 5 s.
FleetHistory history_of(std::int64_t seconds) {
  FleetHistory history;
  for (std::int64_t at_s = 0; at_s < seconds; at_s += 5)
    history.add(kBegin_s + at_s, row_of(static_cast<float>(at_s)), {{"n1", static_cast<std::size_t>(at_s)}, {"n2", 3}});
  return history;
}

}  // namespace

TEST_CASE("an answer has the finest tier that covers all known samples, in at most 400 points") {
  const FleetHistory minute = history_of(60);
  CHECK(minute.range(kBegin_s + 60 - 7 * 86'400, kBegin_s + 60).step_s == 5);
  const FleetHistory day = history_of(86'400);
  const std::int64_t now_s = kBegin_s + 86'400;
  const auto points = [&](std::int64_t span_s, std::int64_t until_s) { return day.range(until_s - span_s, until_s); };
  CHECK(points(600, now_s).step_s == 5);
  CHECK(points(3000, now_s).step_s == 10);
  CHECK(points(86'000, now_s).step_s == 240);
  CHECK(points(600, now_s - 40'000).step_s == 60);
  for (const std::int64_t span_s : {1, 600, 3600, 80'000, 604'800})
    CHECK(points(span_s, now_s).points <= FleetHistory::kMostPoints + 1);
}

TEST_CASE("a coarse slot is the mean of its samples, and a tier holds at most its capacity") {
  const FleetHistory history = history_of(3 * 3600);
  const auto minutes = history.range(kBegin_s, kBegin_s + 3 * 3600);
  REQUIRE(minutes.tier->step_s == 60);
  CHECK(minutes.tier->slots.size() == 179);
  CHECK(minutes.tier->slots.front().values[0] == doctest::Approx(27.5));
  CHECK(minutes.tier->slots.front().values[FleetHistory::kValues.size()] == doctest::Approx(27.5));
  CHECK(std::isnan(minutes.tier->slots.front().values[1]));
  CHECK(history.range(kBegin_s + 3 * 3600 - 60, kBegin_s + 3 * 3600).tier->slots.size() == 720);
}

TEST_CASE("after the clock is set back, new samples replace those recorded after that time") {
  FleetHistory history = history_of(600);
  history.add(kBegin_s + 100, row_of(1), {});
  const auto range = history.range(kBegin_s, kBegin_s + 600);
  CHECK(range.tier->slots.back().number * 5 == kBegin_s + 95);
}

TEST_CASE("a new node takes the column of a removed node without its history; a large fleet has no columns") {
  FleetHistory history;
  std::vector<std::pair<std::string, std::size_t>> nodes;
  for (std::size_t i = 0; i < FleetHistory::kMostNodes; ++i) nodes.emplace_back("n" + std::to_string(i), i);
  history.add(kBegin_s, row_of(1), nodes);
  history.add(kBegin_s + 5, row_of(1), nodes);
  nodes[3].first = "new";
  history.add(kBegin_s + 10, row_of(1), nodes);
  CHECK(history.nodes()[3] == "new");
  const auto slots = history.range(kBegin_s, kBegin_s + 10).tier->slots;
  REQUIRE(slots.size() == 2);
  CHECK(std::isnan(slots[0].values[FleetHistory::kValues.size() + 3]));
  CHECK(slots[0].values[FleetHistory::kValues.size() + 4] == 4);
  nodes.emplace_back("one too many", 1);
  history.add(kBegin_s + 15, row_of(1), nodes);
  history.add(kBegin_s + 20, row_of(1), nodes);
  CHECK(std::isnan(history.range(kBegin_s, kBegin_s + 20).tier->slots.back().values[FleetHistory::kValues.size()]));
}

TEST_CASE("a saved history is restored with its nodes and marks; damaged bytes change nothing") {
  FleetHistory history = history_of(7200);
  for (std::size_t i = 0; i < 2 * FleetHistory::kMostMarks; ++i)
    history.mark({kBegin_s + static_cast<std::int64_t>(i), "mode", "mode shadow -> live"});
  CHECK(history.marks().size() == FleetHistory::kMostMarks);
  const std::string saved = history.save();
  FleetHistory again;
  REQUIRE(again.restore(saved));
  CHECK(again.nodes() == history.nodes());
  CHECK(again.marks().back().text == "mode shadow -> live");
  CHECK(again.marks().size() == FleetHistory::kMostMarks);
  const auto hour = again.range(kBegin_s, kBegin_s + 7200);
  CHECK(hour.tier->slots.size() == 120);
  CHECK(hour.tier->slots.front().values[0] == doctest::Approx(27.5));
  for (const std::string& bad :
       {saved.substr(0, saved.size() - 1), saved + "x", std::string("wattle-history 2\n"), std::string()})
    CHECK(again.restore(bad).error().code == wattle::Errc::malformed);
  std::string damaged = saved;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  CHECK_FALSE(again.restore(damaged));
  CHECK(again.marks().size() == FleetHistory::kMostMarks);
  // Samples after a restart continue the same slots.
  again.add(kBegin_s + 7260, row_of(5), {});
  again.add(kBegin_s + 7320, row_of(5), {});
  CHECK(again.range(kBegin_s, kBegin_s + 7320).tier->slots.back().values[0] == 5);
}
