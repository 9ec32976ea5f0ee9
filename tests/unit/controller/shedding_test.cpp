// Service of sessions while the controller is overloaded.
#include <doctest/doctest.h>

#include "common/wire/codec.hpp"
#include "controller/ingest/telemetry.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using transport::Role;

namespace {

struct Rig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  NoSink sink;
  Telemetry telemetry{clock, log, sink};

  static transport::Incoming incoming(const std::string& route, const wire::Message& message) {
    return {route, {Role::agent, "n1"}, wire::encode(message), "key"};
  }
  std::vector<wire::Message> say(const wire::Message& message) { return telemetry.receive(incoming("a", message)); }
  std::optional<wire::Message> ping(std::uint64_t nonce, bool placement_waits = false, const std::string& route = "a") {
    return telemetry.answer_ping(incoming(route, wire::Ping{nonce, 77}), placement_waits);
  }
};

}  // namespace

TEST_CASE("a ping of a session is answered ahead of its records, and does not confirm a pending placement") {
  Rig rig;
  CHECK_FALSE(rig.ping(1));  // no session yet: its Hello is pending
  rig.say(hello_of("n1"));
  const auto pong = rig.ping(5);
  REQUIRE(pong);
  CHECK(std::get<wire::Pong>(*pong).nonce == 5);
  CHECK(std::get<wire::Pong>(*pong).mono_ns == 77);
  CHECK(std::get<wire::Pong>(*rig.ping(6, true)).nonce == 0);
  CHECK_FALSE(rig.ping(7, false, "another connection"));
  CHECK_FALSE(rig.telemetry.answer_ping(Rig::incoming("a", wire::Samples{}), false));
}

TEST_CASE("pings of a flooding agent are answered in turn") {
  Rig rig;
  rig.say(hello_of("n1"));
  std::size_t answered = 0;
  for (std::uint64_t nonce = 1; nonce <= 100; ++nonce) answered += rig.ping(nonce) ? 1 : 0;
  CHECK(answered == 8);
  rig.clock.advance(1s);
  CHECK(rig.ping(101));
}

TEST_CASE("acknowledgements carry the interval and the credit of overload, and neither without it") {
  Rig rig;
  rig.say(hello_of("n1"));
  const auto ack = [&](std::uint64_t seq) {
    const auto messages = rig.say(wire::Samples{{record_at(seq)}, {}});
    REQUIRE(messages.size() == 1);
    return std::get<wire::Ack>(messages.front());
  };
  CHECK(ack(1).tick_ms == 0);
  CHECK(ack(2).credit == 256);
  rig.telemetry.shed({2500ms, 3});
  CHECK(ack(3).tick_ms == 2500);
  CHECK(ack(4).credit == 3);
  rig.telemetry.shed({});
  CHECK(ack(5).tick_ms == 0);
  CHECK(ack(6).credit == 256);
}
