// price_response: how far a budget's price rises, in worlds where waiting does or does not respond to it.
#include "placement/cluster/price_response.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "placement/cluster/budget.hpp"

namespace wattle::placement {
namespace {

constexpr double kCore_w = 12, kDay_s = 86'400, kStep_s = 60, kLimit = 0.01;

struct Lived {
  double price = 0, waited = 0;  // means of the second half, the price in units
};

// A week of a cluster with waiting `waits(price)`, a lag of an hour and noise that changes every half hour.
Lived live(const std::function<double(double price)>& waits, double noise, std::uint64_t seed, double days = 8) {
  Budget budget;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Lived lived;
  double followed = waits(1), shake = 0;
  int steps = 0;
  for (double at_s = 0; at_s < days * kDay_s; at_s += kStep_s) {
    if (std::fmod(at_s, 1800) < kStep_s) shake = noise * normal(random);
    followed += kStep_s / 3600 * (waits(std::max(0.01, budget.price() / kCore_w)) - followed);
    const double waited = std::clamp(followed * (1 + shake), 0.0, 1.0);
    budget.measure(100 * waited, 100, kStep_s, true, kCore_w);
    if (at_s < days / 2 * kDay_s) continue;
    lived.price += budget.price() / kCore_w;
    lived.waited += waited;
    ++steps;
  }
  return {lived.price / steps, lived.waited / steps};
}

TEST_CASE("if waiting does not depend on placement the price stays low, whatever the noise") {
  for (const double noise : {0.0, 0.1, 0.3})
    for (const double waited : {0.02, 0.13}) {
      double price = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed)
        price += live([&](double) { return waited; }, noise, seed).price / 20;
      CHECK(price < 10);  // of 100, its value without the rule
    }
}

TEST_CASE("if waiting responds the budget is met, even if that takes a high price") {
  for (const double noise : {0.0, 0.1, 0.3})
    for (const double half_at : {1.0, 4.0, 12.0}) {
      double waited = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed)
        waited += live([&](double price) { return 0.06 / (1 + price / half_at); }, noise, seed).waited / 20;
      CHECK(waited < 1.2 * kLimit);
    }
}

TEST_CASE("a world that stops responding is noticed within days, and so is one that begins to respond") {
  for (const bool responds_first : {true, false}) {
    Budget budget;
    double waited = 0.06;
    for (double at_s = 0; at_s < 10 * kDay_s; at_s += kStep_s) {
      const bool responds = responds_first == (at_s < 5 * kDay_s);
      const double aim = responds ? 0.06 / (1 + budget.price() / kCore_w / 8) : 0.06;
      waited += kStep_s / 3600 * (aim - waited);
      budget.measure(100 * waited, 100, kStep_s, true, kCore_w);
    }
    if (responds_first) CHECK(budget.price() < 15 * kCore_w);
    if (!responds_first) CHECK(waited < 1.2 * kLimit);
  }
}

}  // namespace
}  // namespace wattle::placement
