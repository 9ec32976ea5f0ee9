// DRPC's reward, to the digit.
#include "provision/minute/drpc_reward.hpp"

#include <doctest/doctest.h>

using namespace wattle::models::provision;

TEST_CASE("DRPC's reward is Rqos / Rutil as published, to the digit") {
  struct Row {
    double late, cpu, memory, reward;
  };
  // Rqos / Rutil, computed by hand: exp(-0.25) = 0.778800783071405, exp(-1) = 0.367879441171442, exp(-9) =
  // 0.000123409804086680.
  for (const Row& row :
       {Row{0.2, 0.75, 0.75, 1}, Row{1, 0.75, 0.75, 1}, Row{1.5, 0.75, 0.75, 0.778800783071405},
        Row{2, 0.75, 0.75, 0.367879441171442}, Row{4, 0.75, 0.75, 0.000123409804086680}, Row{0.5, 0.5, 1, 0.8},
        Row{0.5, 0.25, 0.75, 0.8}, Row{0.5, 0, 0, 0.571428571428571}, Row{2, 0.95, 0.65, 0.319895166236037}})
    CHECK(drpc_reward(row.late, row.cpu, row.memory) == doctest::Approx(row.reward).epsilon(1e-14));
  CHECK(drpc_reward(0.5, 0.5, std::nullopt) == doctest::Approx(0.8).epsilon(1e-14));  // CPU only
}

TEST_CASE("a minute's CPU utilisation is used over granted, and its memory utilisation the working set over granted") {
  ServiceMinute minute;
  minute.latency = Latency{0.02, 1.5, 0.01};
  minute.used_over_granted = 0.5;
  minute.working_over_peak = 0.9;
  minute.now.memory_ratio = 0.2;  // 0.9 / 1.2 = 0.75
  CHECK(drpc_reward(minute, true) == doctest::Approx(0.778800783071405 / 1.125).epsilon(1e-14));
  CHECK(drpc_reward(minute, false) == doctest::Approx(0.778800783071405 / 1.25).epsilon(1e-14));
}
