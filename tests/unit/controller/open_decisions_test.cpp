#include "controller/decisions/open_decisions.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::controller;

namespace {

OpenDecision open_over(std::size_t nodes, MonoTime at = {}) {
  OpenDecision open;
  open.node.resize(nodes);
  open.at = at;
  return open;
}

}  // namespace

TEST_CASE("an open decision is taken once, and a duplicate number does not replace it") {
  OpenDecisions open;
  open.add(7, open_over(3));
  open.add(7, open_over(90));
  CHECK(open.rows() == 3);
  const auto taken = open.take(7);
  REQUIRE(taken);
  CHECK(taken->node.size() == 3);
  CHECK_FALSE(open.take(7));
  CHECK(open.size() == 0);
  CHECK(open.rows() == 0);
}

TEST_CASE("the oldest decisions are dropped above the limit of decisions or of rows; the newest stays") {
  OpenDecisions open;
  for (std::uint64_t id = 1; id <= OpenDecisions::kMax + 5; ++id) open.add(id, open_over(2));
  CHECK(open.size() == OpenDecisions::kMax);
  CHECK_FALSE(open.take(5));
  CHECK(open.take(6));
  open.add(10'000, open_over(OpenDecisions::kMaxRows + 1));
  CHECK(open.size() == 1);
  CHECK(open.take(10'000));
  CHECK(open.rows() == 0);
}

TEST_CASE("a decision without a placement expires") {
  const MonoTime begun = mono_from_ns(1);
  OpenDecisions open;
  open.add(1, open_over(4, begun));
  open.add(2, open_over(5, begun + std::chrono::seconds(1)));
  open.expire(begun + OpenDecisions::kForgetAfter);
  CHECK(open.size() == 2);
  open.expire(begun + OpenDecisions::kForgetAfter + std::chrono::seconds(1));
  CHECK(open.size() == 1);
  CHECK(open.rows() == 5);
  CHECK(open.take(2));
}
