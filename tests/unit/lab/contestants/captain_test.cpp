// The captain behaves as Autothrottle's worker-daemon.py does.
#include "lab/contestants/captain.hpp"

#include <doctest/doctest.h>

using namespace wattle::sim::provision;

TEST_CASE("the captain raises its limit by the excess of throttling over three targets, once a second") {
  Captain captain(0.1, 1);
  for (int tick = 0; tick < 9; ++tick) CHECK(captain.tick(1, 1) == 1);
  CHECK(captain.tick(1, 1) == doctest::Approx(1 + (1 - 0.3)));
}

TEST_CASE("the captain lowers its limit by at most half, and by at least a tenth") {
  Captain captain(0.1, 8);
  double limit = 8;
  for (int tick = 0; tick < 10; ++tick) limit = captain.tick(0, 0.1);
  CHECK(limit == doctest::Approx(4));
}

TEST_CASE("the captain reverts a lowering when throttling follows at once") {
  Captain captain(0.02, 8);
  double limit = 8;
  for (int tick = 0; tick < 10; ++tick) limit = captain.tick(0, 0.1);
  REQUIRE(limit == doctest::Approx(4));
  CHECK(captain.tick(1, 4) == doctest::Approx(12));  // 2 x 8 - 4
}
