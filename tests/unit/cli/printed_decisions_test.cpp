#include "cli/printed_decisions.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::cli;

namespace {

wire::Decision made(std::uint64_t id, std::int64_t wall_ns = 1) {
  wire::Decision decision;
  decision.id = id;
  decision.wall_ns = wall_ns;
  return decision;
}

}  // namespace

TEST_CASE("a decision is printed once, however often the feed sends it") {
  PrintedDecisions printed;
  wire::Decision decision = made(7);
  CHECK(printed.take(decision));
  decision.placed_on = "n1";
  CHECK_FALSE(printed.take(decision));
  decision.outcome = wire::Outcome{};
  CHECK_FALSE(printed.take(decision));
  CHECK(printed.take(made(6)));
}

TEST_CASE("a decision from before the watch began is not printed when its outcome arrives") {
  PrintedDecisions printed;
  wire::Decision decision = made(7);
  decision.outcome = wire::Outcome{};
  CHECK_FALSE(printed.take(decision));
}

TEST_CASE("a decision that was bound without an ask is printed with its placement") {
  PrintedDecisions printed;
  wire::Decision decision = made(7);
  decision.placed_on = "n1";
  CHECK(printed.take(decision));
  CHECK_FALSE(printed.take(decision));
}

TEST_CASE("a controller that restarts its numbering makes new decisions") {
  PrintedDecisions printed;
  CHECK(printed.take(made(1, 10)));
  CHECK(printed.take(made(1, 20)));
  CHECK_FALSE(printed.take(made(1, 20)));
}

TEST_CASE("the memory of printed decisions is bounded, and the newest stay") {
  PrintedDecisions printed;
  for (std::uint64_t id = 0; id <= PrintedDecisions::kMost; ++id) REQUIRE(printed.take(made(id)));
  CHECK_FALSE(printed.take(made(PrintedDecisions::kMost)));
  CHECK_FALSE(printed.take(made(1)));
  CHECK(printed.take(made(0)));
}
