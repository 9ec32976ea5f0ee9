// levers: the list of savings: by size, each independent of the others, with a sum that counts no watt twice.
#include "provision/savings/levers.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace wattle::placement {
namespace {

LeverSaving saves(LeverKind kind, std::optional<double> watts, bool in_force = false) {
  LeverSaving made;
  made.kind = kind;
  made.saved_w = watts;
  made.in_force = in_force;
  return made;
}

TEST_CASE("levers are listed by size, and unknown ones come last") {
  std::vector<LeverSaving> levers{saves(LeverKind::placement, {}), saves(LeverKind::sleep, 10),
                                  saves(LeverKind::requests, 30), saves(LeverKind::replicas, -5)};
  order_by_size(levers);
  CHECK(levers[0].kind == LeverKind::requests);
  CHECK(levers[1].kind == LeverKind::sleep);
  CHECK(levers[2].kind == LeverKind::replicas);
  CHECK(levers[3].kind == LeverKind::placement);
}

TEST_CASE("the overlap of requests and replicas counts once, and a saving in force is not available") {
  const std::vector<LeverSaving> levers{saves(LeverKind::requests, 30), saves(LeverKind::replicas, 20),
                                        saves(LeverKind::placement, 7, true)};
  const SavingsSum sum = sum_of(levers, {35, false}, 500);
  CHECK(sum.saved_w == 35);
  CHECK(sum.overlap_w == 15);
  CHECK(sum.in_force_w == 7);
  // Without the other, a lever counts in full.
  CHECK(sum_of(std::span(levers).first(1), {35, false}, 500).saved_w == 30);
}

TEST_CASE("placement that is modelled with sleeping nodes counts at most once with the levers that empty nodes") {
  const std::vector<LeverSaving> levers{saves(LeverKind::sleep, 50), saves(LeverKind::placement, 40)};
  CHECK(sum_of(levers, {0, false}, 500).saved_w == 90);
  CHECK(sum_of(levers, {0, true}, 500).saved_w == 50);
}

TEST_CASE("moves that empty a node and those of placement count once, the larger ones") {
  const std::vector<LeverSaving> levers{saves(LeverKind::sleep, 50), saves(LeverKind::drain, 30),
                                        saves(LeverKind::placement, 40)};
  CHECK(sum_of(levers, {0, false}, 500).saved_w == 90);
  CHECK(sum_of(levers, {0, false}, 500).overlap_w == 30);
  CHECK(sum_of(levers, {0, true}, 500).saved_w == 80);
  CHECK(sum_of(std::span(levers).first(2), {0, false}, 500).saved_w == 80);
}

TEST_CASE("any levers: the sum is at most the fleet's watts, and does not depend on the order of the list") {
  CHECK(rc::check([] {
    std::vector<LeverSaving> levers;
    for (const LeverKind kind :
         {LeverKind::sleep, LeverKind::drain, LeverKind::requests, LeverKind::replicas, LeverKind::placement})
      if (*rc::gen::inRange(0, 4) > 0)
        levers.push_back(saves(kind, *rc::gen::inRange(0, 400), *rc::gen::inRange(0, 4) == 0));
    const Together together{static_cast<double>(*rc::gen::inRange(0, 600)), *rc::gen::inRange(0, 2) == 0};
    const double fleet_w = *rc::gen::inRange(0, 1000);
    const SavingsSum sum = sum_of(levers, together, fleet_w);
    RC_ASSERT(sum.saved_w <= fleet_w);
    std::vector<LeverSaving> other = levers;
    std::reverse(other.begin(), other.end());
    RC_ASSERT(sum_of(other, together, fleet_w).saved_w == sum.saved_w);
    double all_w = 0;
    for (const LeverSaving& each : levers) all_w += each.in_force ? 0 : *each.saved_w;
    RC_ASSERT(sum.saved_w + sum.overlap_w == all_w);
    // Sleep and drain add at most their own savings.
    for (const LeverKind kind : {LeverKind::sleep, LeverKind::drain}) {
      std::vector<LeverSaving> rest;
      double alone_w = 0;
      for (const LeverSaving& each : levers)
        if (each.kind == kind)
          alone_w = each.in_force ? 0 : *each.saved_w;
        else
          rest.push_back(each);
      RC_ASSERT(sum_of(rest, together, fleet_w).saved_w <= sum.saved_w);
      RC_ASSERT(sum.saved_w <= sum_of(rest, together, fleet_w).saved_w + alone_w);
    }
  }));
}

}  // namespace
}  // namespace wattle::placement
