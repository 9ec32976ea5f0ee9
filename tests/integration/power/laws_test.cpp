// The laws that every NodePower driver keeps. They run on each test machine, and on sushy-tools and ipmi_sim in
// scripts/test-long power.
#include <doctest/doctest.h>

#include <functional>

#include "tests/integration/power/rigs.hpp"
#include "tests/patience.hpp"

using namespace wattle::controller::power;
using namespace wattle::controller::power::test;
using wattle::Errc;
using wattle::Error;
using wattle::Status;

namespace {

// A limit that suffices for a successful call.
std::chrono::milliseconds enough() { return wattle::tests::soon(); }

void on_each(const std::function<void(Rig&)>& law) {
  for (const auto& rig : make_rigs()) {
    CAPTURE(rig->name);
    law(*rig);
  }
}

void check(const Status& status) {
  if (!status) FAIL_CHECK(status.error().message());
}

bool is_observed(Rig& rig, PowerState wanted) {
  return wattle::tests::wait_until(
      [&] {
        const auto seen = rig.power->observe(rig.node, enough());
        return seen && seen->state == wanted;
      },
      wattle::tests::late());
}

Depth deepest(Rig& rig) {
  const auto able = rig.power->probe(rig.node, enough());
  if (!able) FAIL(able.error().message());
  REQUIRE_FALSE(able->depths.empty());
  return able->depths.back();
}

// The errors of all four calls.
std::vector<Error> failures_of(NodePower& power, const Node& node, std::chrono::milliseconds limit) {
  std::vector<Error> errors;
  const auto keep = [&](const auto& result) {
    REQUIRE_FALSE(result);
    errors.push_back(result.error());
  };
  keep(power.probe(node, limit));
  keep(power.sleep(node, Depth::off, {1, limit}));
  keep(power.wake(node, {2, limit}));
  keep(power.observe(node, limit));
  return errors;
}

void check_keeps_secrets(const Rig& rig, const Error& error) {
  for (const std::string& secret : rig.secrets) CHECK(error.message().find(secret) == std::string::npos);
}

}  // namespace

TEST_CASE("a probe names depths, and says that the node can be woken and observed") {
  on_each([](Rig& rig) {
    const auto able = rig.power->probe(rig.node, enough());
    if (!able) FAIL(able.error().message());
    CHECK_FALSE(able->depths.empty());
    CHECK(able->can_wake);
    CHECK(able->can_observe);
  });
}

TEST_CASE("sleep and wake may be repeated, and observe agrees with them") {
  on_each([](Rig& rig) {
    const Depth depth = deepest(rig);
    check(rig.power->wake(rig.node, {1, enough()}));
    REQUIRE(is_observed(rig, PowerState::on));
    check(rig.power->wake(rig.node, {1, enough()}));
    check(rig.power->sleep(rig.node, depth, {2, enough()}));
    check(rig.power->sleep(rig.node, depth, {2, enough()}));
    REQUIRE(is_observed(rig, PowerState::off));
    check(rig.power->sleep(rig.node, depth, {3, enough()}));
    CHECK(is_observed(rig, PowerState::off));
    check(rig.power->wake(rig.node, {4, enough()}));
    check(rig.power->wake(rig.node, {4, enough()}));
    CHECK(is_observed(rig, PowerState::on));
  });
}

TEST_CASE("a probe and an observation change nothing") {
  on_each([](Rig& rig) {
    const Depth depth = deepest(rig);
    check(rig.power->sleep(rig.node, depth, {1, enough()}));
    REQUIRE(is_observed(rig, PowerState::off));
    CHECK(rig.power->probe(rig.node, enough()));
    CHECK(is_observed(rig, PowerState::off));
    check(rig.power->wake(rig.node, {2, enough()}));
    CHECK(is_observed(rig, PowerState::on));
  });
}

TEST_CASE("a machine with a meter is observed with its watts, and draws fewer while it sleeps") {
  on_each([](Rig& rig) {
    if (!rig.metered) return;
    check(rig.power->wake(rig.node, {1, enough()}));
    REQUIRE(is_observed(rig, PowerState::on));
    const auto awake = rig.power->observe(rig.node, enough());
    check(rig.power->sleep(rig.node, deepest(rig), {2, enough()}));
    REQUIRE(is_observed(rig, PowerState::off));
    const auto asleep = rig.power->observe(rig.node, enough());
    REQUIRE((awake && awake->power_w && asleep && asleep->power_w));
    CHECK(*asleep->power_w < *awake->power_w);
    CHECK(rig.power->probe(rig.node, enough())->asleep_w == asleep->power_w);
  });
}

TEST_CASE("a node without a driver is not found") {
  on_each([](Rig& rig) {
    for (const Error& error : failures_of(*rig.power, {"other"}, enough())) {
      CHECK(error.code == Errc::not_found);
      CHECK(error.message().find("other") != std::string::npos);
    }
  });
}

TEST_CASE("a wrong password is denied with an error that names its file and contains no password") {
  on_each([](Rig& rig) {
    if (!rig.denied) return;
    for (const Error& error : failures_of(*rig.denied, rig.node, enough())) {
      CAPTURE(error.message());
      CHECK(error.code == Errc::denied);
      CHECK(error.fix.find(rig.denied_file) != std::string::npos);
      check_keeps_secrets(rig, error);
    }
  });
}

TEST_CASE("calls to a machine that never answers end at their time limit") {
  on_each([](Rig& rig) {
    if (!rig.silent) return;
    for (const Error& error : failures_of(*rig.silent, rig.node, std::chrono::milliseconds(200))) {
      CAPTURE(error.message());
      CHECK(error.code == Errc::timeout);
      check_keeps_secrets(rig, error);
    }
  });
}
