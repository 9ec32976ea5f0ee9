// Sleep orders and goodbyes in the sessions of agents.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/wire/codec.hpp"
#include "controller/ingest/telemetry.hpp"
#include "tests/unit/common/log_lines.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using transport::Role;

namespace {

struct GoodbyeSink final : TelemetrySink {
  std::vector<std::pair<std::string, wire::Goodbye>> goodbyes;
  std::vector<std::string> lost;
  void on_hello(const wire::Hello&) override {}
  void on_record(const std::string&, const Record&) override {}
  void on_live(const std::string&, const Record&) override {}
  void on_placement(const wire::Placement&) override {}
  void on_lost(const std::string& node) override { lost.push_back(node); }
  void on_goodbye(const std::string& node, const wire::Goodbye& goodbye) override {
    goodbyes.emplace_back(node, goodbye);
  }
};

struct GoodbyeRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log{"test", LogLevel::info, LogFormat::json};
  GoodbyeSink sink;
  Telemetry telemetry{clock, log, sink};

  std::vector<wire::Message> say(const wire::Message& message, const std::string& node = "n1",
                                 Role role = Role::agent) {
    return telemetry.receive({"route of " + node, {role, node}, wire::encode(message)});
  }
  // Log of the controller if the agent of n1 is silent from now on.
  std::string silence() {
    const auto lines = wattle::test::lines_of([&] {
      clock.advance(std::chrono::seconds(6));
      telemetry.expire();
    });
    return lines.size() == 1 ? lines.front() : std::string();
  }
};

wire::SleepOrder sleep_order_of(std::uint64_t operation, bool granted) {
  return {operation, "suspend", true, granted, 600};
}

}  // namespace

TEST_CASE("a sleep order goes only to the session of its node") {
  GoodbyeRig rig;
  rig.say(hello_of("n1"));
  rig.say(hello_of("n2"), "n2");
  const auto answer = rig.telemetry.order("n2", sleep_order_of(7, false));
  REQUIRE(answer);
  CHECK(answer->route == "route of n2");
  const auto* order = std::get_if<wire::SleepOrder>(&answer->message);
  REQUIRE(order != nullptr);
  CHECK(order->operation == 7);
  CHECK(order->wake_after_s == 600);
}

TEST_CASE("a node without a session or with an agent of an older wire version gets no order; the error names the fix") {
  GoodbyeRig rig;
  const auto none = rig.telemetry.order("n1", sleep_order_of(7, false));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::unavailable);
  CHECK(none.error().subject == "n1");
  CHECK_FALSE(none.error().fix.empty());
  wire::Hello old = hello_of("n1");
  old.version_max = wire::kSleepSince - 1;
  rig.say(old);
  const auto refused = rig.telemetry.order("n1", sleep_order_of(7, false));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
  CHECK(refused.error().fix.find("upgrade") != std::string::npos);
}

TEST_CASE("a goodbye is forwarded with the node of the sender's key, and refused before a Hello") {
  GoodbyeRig rig;
  CHECK(std::holds_alternative<wire::Refusal>(rig.say(wire::Goodbye{7, {}}).front()));
  rig.say(hello_of("n1"));
  CHECK(rig.say(wire::Goodbye{7, {}}).empty());
  CHECK(rig.say(wire::Goodbye{8, "an inhibitor is held"}).empty());
  CHECK(std::holds_alternative<wire::Refusal>(rig.say(wire::Goodbye{9, {}}, "n1", Role::shim).front()));
  REQUIRE(rig.sink.goodbyes.size() == 2);
  CHECK(rig.sink.goodbyes[0].first == "n1");
  CHECK(rig.sink.goodbyes[0].second.operation == 7);
  CHECK(rig.sink.goodbyes[1].second.refused == "an inhibitor is held");
}

TEST_CASE("a goodbye with a reason that is too long ends the session") {
  GoodbyeRig rig;
  rig.say(hello_of("n1"));
  CHECK(rig.say(wire::Goodbye{7, std::string(wire::Goodbye::kMaxRefusedBytes, 'x')}).empty());
  CHECK(std::holds_alternative<wire::Refusal>(
      rig.say(wire::Goodbye{7, std::string(wire::Goodbye::kMaxRefusedBytes + 1, 'x')}).front()));
  CHECK(rig.telemetry.sessions() == 0);
  CHECK(rig.sink.goodbyes.size() == 1);
}

TEST_CASE("the controller refuses a sleep order from any peer") {
  GoodbyeRig rig;
  rig.say(hello_of("n1"));
  CHECK(std::holds_alternative<wire::Refusal>(rig.say(sleep_order_of(7, true)).front()));
}

TEST_CASE("the end of a session means sleep only after a goodbye or a grant that the agent acted on") {
  GoodbyeRig rig;
  const auto begin = [&](bool granted) {
    rig.say(hello_of("n1"));
    REQUIRE(rig.telemetry.order("n1", sleep_order_of(7, granted)));
  };
  begin(false);
  CHECK(rig.silence().find("agent.silent") != std::string::npos);
  begin(true);
  CHECK(rig.silence().find("agent.asleep") != std::string::npos);
  begin(false);
  rig.say(wire::Goodbye{7, {}});
  CHECK(rig.silence().find("agent.asleep") != std::string::npos);
  begin(false);
  rig.say(wire::Goodbye{7, {}});
  REQUIRE(rig.telemetry.order("n1", {7, "awake", false, false, 0}));  // cancelled
  CHECK(rig.silence().find("agent.silent") != std::string::npos);
  begin(true);
  rig.say(wire::Goodbye{7, "the node did not sleep"});
  CHECK(rig.silence().find("agent.silent") != std::string::npos);
  begin(true);
  rig.say(wire::Samples{{record_at(1)}, {}});
  CHECK(rig.silence().find("agent.silent") != std::string::npos);
  begin(true);
  rig.say(hello_of("n1"));
  CHECK(rig.silence().find("agent.silent") != std::string::npos);
  CHECK(rig.sink.lost.size() == 7);
}
