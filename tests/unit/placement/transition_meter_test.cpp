// transition_meter: energy around a sleep and a wake, and of whole round trips.
#include "placement/sleep/transition_meter.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

#include "placement/sleep/transition_cost.hpp"

namespace wattle::placement::sleep {
namespace {

constexpr MonoTime kStart{std::chrono::hours(1)};

// A metered node: readings with the interval's end, energy and power.
struct Metered {
  MonoTime at = kStart;
  double energy_j = 1000;
  PowerReading draws(double power_w, Duration time) {
    at += time;
    energy_j += power_w * seconds(time);
    return {at, energy_j, power_w};
  }
};

TEST_CASE("transition meter: readings that cover a transition add up to its energy, wherever the order falls") {
  CHECK(rc::check([] {
    Metered node;
    TransitionMeter meter;
    meter.add(node.draws(80, std::chrono::seconds(1)));
    const MonoTime last = node.at;
    const auto early = std::chrono::milliseconds(*rc::gen::inRange(0, 1000));
    const double first_w = *rc::gen::inRange(0, 500);
    meter.sleeps(last + early);
    meter.add(node.draws(first_w, std::chrono::seconds(1)));
    double joules = first_w * seconds(std::chrono::seconds(1) - early);
    for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
      const double power_w = *rc::gen::inRange(0, 500);
      const auto time = std::chrono::milliseconds(*rc::gen::inRange(1, 5000));
      meter.add(node.draws(power_w, time));
      joules += power_w * seconds(time);
    }
    const std::optional<double> metered = meter.end(node.at);
    RC_ASSERT(metered.has_value());
    RC_ASSERT(std::abs(*metered - joules) < 1e-6 * (1 + joules));
    RC_ASSERT(!meter.end(node.at));
  }));
}

TEST_CASE("transition meter: time without readings counts with their mean power, or with a driver's observation") {
  Metered node;
  TransitionMeter meter;
  meter.add(node.draws(100, std::chrono::seconds(1)));
  meter.sleeps(node.at);
  CHECK(meter.end(node.at + std::chrono::seconds(6)) == doctest::Approx(600));  // the agent is silent at once

  meter.wakes(node.at + std::chrono::hours(1));
  node.at += std::chrono::hours(1) + std::chrono::seconds(99);
  meter.add(node.draws(130, std::chrono::seconds(1)));
  meter.add(node.draws(150, std::chrono::seconds(10)));
  CHECK(meter.end(node.at) == doctest::Approx(150 * 110));

  meter.wakes(node.at + std::chrono::hours(1));
  meter.observe(110);
  meter.observe(130);
  node.at += std::chrono::hours(1) + std::chrono::seconds(99);
  meter.add(node.draws(130, std::chrono::seconds(1)));
  meter.add(node.draws(150, std::chrono::seconds(10)));
  CHECK(meter.end(node.at) == doctest::Approx(120 * 100 + 150 * 10));
}

TEST_CASE("transition meter: readings from before a wake, old ones and gaps do not count") {
  Metered node;
  TransitionMeter meter;
  const PowerReading before = node.draws(500, std::chrono::seconds(1));
  meter.add(before);
  meter.wakes(node.at + std::chrono::seconds(1));
  meter.add(before);
  CHECK_FALSE(meter.end(node.at + std::chrono::seconds(60)));

  meter.wakes(node.at);
  meter.add(node.draws(90, std::chrono::seconds(10)));
  meter.gap();
  node.draws(1000, std::chrono::seconds(10));  // unknown to the agent
  meter.add(node.draws(90, std::chrono::seconds(10)));
  meter.add(node.draws(90, std::chrono::seconds(10)));
  node.energy_j = 0;  // the counter restarts
  meter.add(node.draws(90, std::chrono::seconds(10)));
  meter.add({node.at, std::numeric_limits<double>::quiet_NaN(), 90});
  CHECK(meter.end(node.at) == doctest::Approx(90 * 50));
}

TEST_CASE("the mean of metered transitions is used from the third on, and ignores invalid energy") {
  MeteredTransitions metered;
  metered.add(-1);
  metered.add(std::numeric_limits<double>::infinity());
  CHECK(metered.count == 0);
  for (int i = 0; i < 2; ++i) metered.add(800);
  CHECK_FALSE(metered.trusted_j());
  metered.add(800);
  CHECK(metered.trusted_j() == doctest::Approx(800));
}

TEST_CASE("energy of a round trip: saved, asleep and transitions add up to that of an idle node") {
  CHECK(rc::check([] {
    const TransitionCost cost{double(*rc::gen::inRange(0, 100)), double(*rc::gen::inRange(0, 9000)),
                              double(*rc::gen::inRange(0, 900)), double(*rc::gen::inRange(0, 90'000)),
                              double(*rc::gen::inRange(0, 20))};
    const double idle_w = *rc::gen::inRange(0, 500), gap_s = *rc::gen::inRange(0, 300'000);
    const TripEnergy trip = trip_energy(cost, idle_w, gap_s);
    RC_ASSERT(trip.transitions_j == cost.sleep_j + cost.wake_j);
    RC_ASSERT(trip.asleep_j >= 0);
    RC_ASSERT(std::abs(trip.saved_j + trip.asleep_j + trip.transitions_j - idle_w * gap_s) <
              1e-6 * (1 + idle_w * gap_s));
    RC_ASSERT(trip.saved_j == saved_j(cost, idle_w, gap_s));
  }));
}

}  // namespace
}  // namespace wattle::placement::sleep
