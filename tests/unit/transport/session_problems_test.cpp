// What ends a session, and how it says so.
#include "session_rig.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::test;
using namespace std::chrono_literals;

TEST_CASE("a refusal is told in its words, and the session tries again") {
  Rig rig;
  REQUIRE(rig.next<wire::Hello>());
  rig.say(wire::Refusal{"node-1", "another agent speaks for it", "stop one of them"});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.session->status().reconnects == 1;
  }));
  CHECK(rig.session->status().problem ==
        "refused by the controller: node-1: another agent speaks for it (stop one of them)");
  rig.clock.advance(milliseconds(250));
  CHECK(rig.next<wire::Hello>());
}

TEST_CASE("a key that is not allowed is the session's problem until it is") {
  Rig rig;
  rig.world.context.set_allow_list({});
  // Let go of the link that the key opened while it was allowed.
  rig.server.reset();
  rig.listen(rig.endpoint);
  REQUIRE(eventually([&] {
    rig.clock.advance(250ms);
    rig.step();
    return rig.session->status().problem.find("does not allow our key") != std::string::npos;
  }));
  rig.world.context.set_allow_list(rig.world.list());
  REQUIRE(eventually([&] {
    rig.clock.advance(milliseconds(250));
    rig.step();
    return !rig.take<wire::Hello>().empty();
  }));
}

TEST_CASE("what makes no sense from a controller ends the session") {
  const auto loses_after = [](const std::string& bytes, const std::string& problem) {
    Rig rig;
    rig.fill(1, 1);
    rig.greet(welcome(10, 10));
    REQUIRE(rig.server->send(rig.route, bytes));
    CHECK(rig.until_lost());
    CHECK(rig.session->status().problem.find(problem) != std::string::npos);
    CHECK(rig.outbox.size() == 1);
  };
  loses_after("garbage", "the controller sends malformed");
  loses_after(wire::encode(wire::Ack{2, 999, 1}), "never sent");
  loses_after(wire::encode(wire::Samples{}), "agents do not take");
}

TEST_CASE("a message of a kind that does not exist yet is skipped") {
  Rig rig;
  rig.greet(welcome(10, 10));
  REQUIRE(rig.server->send(rig.route, std::string("\x92\x09\x7f", 3)));
  rig.say(wire::Ping{5, 0});
  CHECK(rig.next<wire::Pong>());
  CHECK(rig.session->status().welcomed);
}

TEST_CASE("a controller of another version is named") {
  Rig rig;
  REQUIRE(rig.next<wire::Hello>());
  wire::Welcome newer = welcome(10, 10);
  newer.version = 7;
  rig.say(newer);
  REQUIRE(eventually([&] {
    rig.step();
    return rig.session->status().reconnects == 1;
  }));
  CHECK(rig.session->status().problem == "the controller speaks wire version 7, this agent 1 to 1");
}
