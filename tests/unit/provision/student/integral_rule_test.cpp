// integral_rule: the margin rises with requests over target, falls without, and stays within its bounds.
#include "provision/student/integral_rule.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle::actuator;

namespace {

MinuteOfRequests any_minute() {
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 100'000);
  return {count, *rc::gen::inRange<std::uint64_t>(0, count + 1)};
}

}  // namespace

TEST_CASE("a minute without requests keeps the margin") { CHECK(next_margin({}, 0.37, {0, 0}) == 0.37); }

TEST_CASE("the margin rises above the aim, falls below it, and stays on it") {
  IntegralRules rules;
  rules.aim_ratio = 0.01;
  CHECK(next_margin(rules, 0.5, {1000, 20}) > 0.5);
  CHECK(next_margin(rules, 0.5, {1000, 0}) < 0.5);
  CHECK(next_margin(rules, 0.5, {1000, 10}) == doctest::Approx(0.5));
}

TEST_CASE("no minute moves the margin by more than a step or out of bounds, and more late requests never lower it") {
  CHECK(rc::check([] {
    const IntegralRules rules;
    const double margin = *rc::gen::inRange(0, 401) / 100.0;
    const MinuteOfRequests minute = any_minute();
    const double next = next_margin(rules, margin, minute);
    RC_ASSERT(next >= rules.least_margin && next <= rules.most_margin);
    RC_ASSERT(next <= margin + rules.most_step + 1e-12 && next >= margin - rules.most_step - 1e-12);
    if (minute.over < minute.count) RC_ASSERT(next_margin(rules, margin, {minute.count, minute.over + 1}) >= next);
  }));
}
