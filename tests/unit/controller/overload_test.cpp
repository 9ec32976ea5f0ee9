// overload: when agents are asked for longer intervals, and when they return to their own.
#include "controller/ingest/overload.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "common/clock.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

namespace {

// A fleet that follows the requested interval, and a loop that processes a limited number of records a second.
struct Fleet {
  Overload overload{5s};
  ManualClock clock{mono_from_ns(1'000'000'000)};
  double agents = 1000, own_s = 1, reads_per_s = 2000;
  double queued = 0, follows_s = 1;
  int changes = 0;

  double asked_s() const { return seconds(overload.shedding(static_cast<std::size_t>(agents)).tick); }
  void run(Duration time) {
    constexpr double kStep_s = 0.1;
    for (const MonoTime until = clock.mono() + time; clock.mono() < until; clock.advance(100ms)) {
      const double wanted_s = std::max(own_s, asked_s());
      follows_s += (wanted_s - follows_s) * std::min(1.0, kStep_s / follows_s);
      if (std::abs(follows_s - wanted_s) < 0.05 * wanted_s) follows_s = wanted_s;
      queued += agents / follows_s * kStep_s;
      const double read = std::min(queued, reads_per_s * kStep_s);
      queued -= read;
      overload.slept(from_seconds(kStep_s * (1 - read / (reads_per_s * kStep_s))));
      for (int i = 0; i < static_cast<int>(read); ++i) {
        overload.waited(from_seconds(queued / reads_per_s));
        overload.record(from_seconds(follows_s));
      }
      if (overload.turn(clock.mono())) ++changes;
    }
  }
};

}  // namespace

TEST_CASE("a loop that keeps up requests no longer interval, however long one message waited") {
  Fleet fleet;
  fleet.run(60s);
  CHECK(fleet.asked_s() == 0);
  CHECK(fleet.overload.shedding(1000).credit == 0);
  fleet.overload.waited(10s);
  fleet.run(10s);
  CHECK(fleet.changes == 0);
}

TEST_CASE(
    "at twice the loop's rate the interval grows until the queue is empty, and shrinks when the loop has more time") {
  Fleet fleet;
  fleet.reads_per_s = 500;
  fleet.run(4s);
  CHECK(fleet.asked_s() == 2);
  CHECK(fleet.overload.shedding(1000).credit >= 2);
  CHECK(fleet.overload.shedding(10).credit == 50);
  fleet.run(120s);
  CHECK(fleet.queued < 500);
  CHECK(fleet.asked_s() >= 2);
  fleet.reads_per_s = 5000;
  fleet.run(60s);
  CHECK(fleet.asked_s() == 0);
  CHECK(fleet.follows_s == 1);
}

TEST_CASE("a loop that is full again after each recovery keeps its longer interval for longer each time") {
  Overload overload(5s);
  ManualClock clock{mono_from_ns(1'000'000'000)};
  const auto window = [&](bool full) {
    overload.slept(full ? 0s : 1s);
    overload.waited(full ? 2s : 0s);
    overload.record(1s);
    overload.turn(clock.mono());
    clock.advance(1s);
  };
  const auto asked = [&] { return overload.shedding(1).tick > 0s; };
  std::vector<int> lasted;
  window(true);
  for (int round = 0; round < 5; ++round) {
    while (!asked()) window(true);
    int windows = 0;
    for (; asked(); ++windows) window(false);
    lasted.push_back(windows);
  }
  CHECK(std::is_sorted(lasted.begin(), lasted.end()));
  CHECK(lasted.back() >= 4 * lasted.front());
  for (int i = 0; i < 100; ++i) window(false);
  while (!asked()) window(true);
  int windows = 0;
  for (; asked(); ++windows) window(false);
  CHECK(windows == lasted.front());
}

TEST_CASE("every fleet finds an interval that the loop can process, within the bound, and returns to its own") {
  CHECK(rc::check([] {
    Fleet fleet;
    fleet.own_s = fleet.follows_s = static_cast<double>(*rc::gen::inRange(1, 40)) * 0.1;
    fleet.agents = 100;
    const double load = static_cast<double>(*rc::gen::inRange(2, 40)) * 0.1;  // as a multiple of the loop's rate
    fleet.reads_per_s = fleet.agents / fleet.own_s / load;
    fleet.run(300s);
    const double asked_s = fleet.asked_s();
    RC_ASSERT(asked_s <= 5);
    if (load < 0.9) RC_ASSERT(fleet.changes == 0);
    // Otherwise the loop would need an interval above the bound.
    if (load * fleet.own_s < 4.5 && load > 1.1) {
      RC_ASSERT(asked_s > fleet.own_s);
      RC_ASSERT(fleet.queued < 3 * fleet.reads_per_s);
    }
    const int before = fleet.changes;
    fleet.run(300s);
    RC_ASSERT(fleet.changes - before <= 30);  // in most settled windows there is no change
    fleet.reads_per_s = 10 * fleet.agents / fleet.own_s;
    fleet.run(120s);
    RC_ASSERT(fleet.asked_s() == 0);
  }));
}
