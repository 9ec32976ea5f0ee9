// plan_record: a plan is followed once it has shown that it costs less, and as long as it does not cost more.
#include "placement/plan/plan_record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace wattle::placement {
namespace {

int blocks_until_change(PlanRecord& record, double difference, int most) {
  for (int block = 1; block <= most; ++block)
    if (record.add(difference)) return block;
  return most + 1;
}

TEST_CASE("a plan begins behind, and level is not ahead") {
  PlanRecord record;
  CHECK_FALSE(record.ahead());
  CHECK(blocks_until_change(record, 0, 500) > 500);
  CHECK(blocks_until_change(record, -0.005, 500) > 500);
  CHECK_FALSE(record.ahead());
}

TEST_CASE("what costs 2% less is followed after some blocks, and no longer when it costs more") {
  PlanRecord record;
  const int until = blocks_until_change(record, -0.02, 100);
  CHECK(until >= 5);
  CHECK(until <= 100);
  CHECK(record.ahead());
  CHECK(blocks_until_change(record, -0.001, 500) > 500);
  CHECK(blocks_until_change(record, 0.02, 100) <= 100);
  CHECK_FALSE(record.ahead());
}

TEST_CASE("a record goes on from what was kept of it, and not from what none can be") {
  PlanRecord record;
  for (int block = 0; block < 40; ++block) record.add(-0.03);
  REQUIRE(record.ahead());
  PlanRecord next;
  REQUIRE(next.restore(record.state()));
  CHECK(next.state() == record.state());
  for (int block = 0; block < 40; ++block) CHECK(next.add(0.01 * block) == record.add(0.01 * block));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const PlanRecord::State& wrong :
       {PlanRecord::State{true, -0.02, 4}, PlanRecord::State{false, 0, 21}, PlanRecord::State{false, 0, -1},
        PlanRecord::State{false, 0.2, 10}, PlanRecord::State{false, nan, 10}, PlanRecord::State{false, 0, nan}})
    CHECK_FALSE(next.restore(wrong));
  CHECK(next.state() == record.state());
}

TEST_CASE("one block decides nothing, however far it is off; what is no number counts for nothing") {
  PlanRecord record;
  for (int block = 0; block < 40; ++block) record.add(-0.03);
  REQUIRE(record.ahead());
  CHECK_FALSE(record.add(100));
  CHECK(record.ahead());
  const double mean = record.mean();
  CHECK_FALSE(record.add(std::nan("")));
  CHECK_FALSE(record.add(std::numeric_limits<double>::infinity()));
  CHECK(record.mean() == mean);
}

}  // namespace
}  // namespace wattle::placement
