// rates: generated rates are reproducible by seed.
#include "sim/provision/world.hpp"

#include <doctest/doctest.h>

#include "common/stats/bootstrap.hpp"

using namespace wattle::sim::provision;

TEST_CASE("synthetic traces are reproducible by seed, differ between seeds, and have about the given mean") {
  const auto traces = synthetic_rates(1, 3600);
  REQUIRE(traces.size() == 4);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    CHECK(traces[i].rates_rps.size() == 3600);
    CHECK(wattle::stats::mean(traces[i].rates_rps) == doctest::Approx(130).epsilon(0.35));
    CHECK(traces[i].rates_rps == synthetic_rates(1, 3600)[i].rates_rps);
  }
  CHECK(traces[1].rates_rps != synthetic_rates(2, 3600)[1].rates_rps);
}
