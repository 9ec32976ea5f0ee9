// session_problems: what ends a session, and how it is reported.
#include "common/dir.hpp"
#include "session_rig.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;
using namespace std::chrono_literals;

TEST_CASE("a refusal is reported in its own words, and the session tries again") {
  Rig rig;
  REQUIRE(rig.next<wire::Hello>());
  rig.say(wire::Refusal{"node-1", "another agent speaks for it", "stop one of them"});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.session->status().reconnects == 1;
  }));
  CHECK(rig.session->status().problem ==
        "rejected by the controller: node-1: another agent speaks for it (stop one of them)");
  rig.clock.advance(milliseconds(250));
  CHECK(rig.next<wire::Hello>());
}

TEST_CASE("a disallowed key is the session's problem until it is allowed") {
  Rig rig;
  rig.world.context.set_allow_list({});
  // Drops the link that was made while the key was allowed.
  rig.server.reset();
  rig.listen(rig.endpoint);
  REQUIRE(eventually([&] {
    rig.clock.advance(250ms);
    rig.step();
    return rig.session->status().problem.find("does not allow your key") != std::string::npos;
  }));
  rig.world.context.set_allow_list(rig.world.list());
  REQUIRE(eventually([&] {
    rig.clock.advance(milliseconds(250));
    rig.step();
    return !rig.take<wire::Hello>().empty();
  }));
}

TEST_CASE("an invalid message from a controller ends the session") {
  const auto loses_after = [](const std::string& bytes, const std::string& problem) {
    Rig rig;
    rig.fill(1, 1);
    rig.greet(welcome(10, 10));
    REQUIRE(rig.server->send(rig.route, bytes) == Sent::yes);
    CHECK(rig.until_lost());
    CHECK(rig.session->status().problem.find(problem) != std::string::npos);
    CHECK(rig.outbox.size() == 1);
  };
  loses_after("garbage", "the controller sent malformed");
  loses_after(wire::encode(wire::Ack{2, 999, 1}), "never sent");
  loses_after(wire::encode(wire::Samples{}), "agents do not accept");
}

TEST_CASE("a message of an unknown kind is skipped") {
  Rig rig;
  rig.greet(welcome(10, 10));
  REQUIRE(rig.server->send(rig.route, std::string("\x92\x09\x7f", 3)) == Sent::yes);
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
  CHECK(rig.session->status().problem ==
        "the controller uses wire version 7, this agent 1 to " + std::to_string(wattle::wire::kVersionMax));
}

namespace {
// Repeats Hello until the controller with the new key has received it; the clock advances, so that pauses end.
bool comes_back(Rig& rig) {
  return eventually([&] {
    rig.clock.advance(250ms);
    rig.step();
    return !rig.take<wire::Hello>().empty();
  });
}

// The controller stops and returns with the key of `rotated`.
void restart_with(Rig& rig, const KeyPair& rotated) {
  rig.server.reset();
  rig.world.server_key = rotated;
  rig.listen(rig.endpoint);
}

wire::Welcome welcome_after(std::uint64_t seq) {
  wire::Welcome message = welcome(100, 100);
  message.acked_incarnation = 2;
  message.acked_seq = seq;
  return message;
}
}  // namespace

TEST_CASE("an agent that knows the next server key reconnects after the rotation and loses no sample") {
  Rig rig;
  const KeyPair next = KeyPair::generate();
  auto options = rig.world.client_options(rig.endpoint, rig.world.agent_key);
  options.next_server_key = next.public_key;
  auto client = Client::connect(rig.world.context, options);
  REQUIRE(client);
  rig.session.emplace(std::move(*client), rig.outbox, hello(), rig.clock, rig.world.log, 42, Rig::kAtOnce);
  rig.fill(1, 10);
  rig.greet(welcome(100, 100));
  rig.settle();
  CHECK(rig.seqs().size() == 10);
  rig.say(wire::Ack{2, 4, 100});  // the rest may be lost
  REQUIRE(eventually([&] {
    rig.step();
    return rig.outbox.size() == 6;
  }));
  restart_with(rig, next);
  rig.fill(11, 20);
  REQUIRE(comes_back(rig));
  rig.say(welcome_after(4));
  REQUIRE(eventually([&] {
    rig.step();
    return rig.session->status().welcomed;
  }));
  rig.settle();
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t seq = 5; seq <= 20; ++seq) wanted.push_back(seq);
  CHECK(rig.seqs() == wanted);
}

TEST_CASE("a running agent reads its server key file again when its key is refused") {
  Rig rig;
  const wattle::test::TempDir dir;
  const std::string file = dir.file("controller.pub");
  REQUIRE(write_file_atomically(file, rig.world.server_key.public_key + "\n"));
  auto options = rig.world.client_options(rig.endpoint, rig.world.agent_key);
  REQUIRE(options.read_server_keys(file));
  auto client = Client::connect(rig.world.context, options);
  REQUIRE(client);
  rig.session.emplace(std::move(*client), rig.outbox, hello(), rig.clock, rig.world.log, 42, Rig::kAtOnce);
  rig.greet(welcome(10, 10));
  const KeyPair next = KeyPair::generate();
  restart_with(rig, next);
  REQUIRE(eventually([&] {
    rig.clock.advance(250ms);
    rig.step();
    return rig.session->status().problem.find("its key is not " + options.server_key) != std::string::npos;
  }));
  REQUIRE(write_file_atomically(file, options.server_key + "\n" + next.public_key + "\n"));
  CHECK(comes_back(rig));
}

TEST_CASE("an agent whose clock stood still starts a new session, however short the pause was") {
  Rig rig;
  rig.greet(welcome(100, 100));
  const auto answer = [&](Duration peer_ahead) {
    const wire::Ping ping = rig.settle();
    rig.say(wire::Pong{ping.nonce, ping.mono_ns, ping.mono_ns + peer_ahead.count(), 8});
  };
  answer(1h);
  answer(1h + 100ms);
  rig.settle();
  CHECK(rig.session->status().welcomed);
  answer(1h + 4s);
  REQUIRE(rig.until_lost());
  CHECK(rig.session->status().problem == "this node's clock stood still for 4 s: it was suspended or paused");
  REQUIRE(comes_back(rig));
}
