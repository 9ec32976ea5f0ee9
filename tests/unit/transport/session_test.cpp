#include "session_rig.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;
using namespace std::chrono_literals;

using Seqs = std::vector<std::uint64_t>;

TEST_CASE("a session sends Hello, gets its Welcome, sends its records and drops the acknowledged ones") {
  Rig rig;
  rig.fill(1, 5);
  const auto greeting = rig.next<wire::Hello>();
  REQUIRE(greeting);
  CHECK(greeting->node == "node-1");
  CHECK(greeting->incarnation == 2);
  CHECK_FALSE(rig.session->status().welcomed);
  CHECK(rig.session->status().problem == "waiting for the controller's welcome");
  CHECK(rig.take<wire::Samples>().empty());
  rig.say(welcome(100, 100));
  const auto batch = rig.next<wire::Samples>();
  REQUIRE(batch);
  REQUIRE(batch->records.size() == 5);
  CHECK(batch->records[4].seq == 5);
  CHECK(rig.session->status().welcomed);
  CHECK(rig.session->status().problem == "");
  CHECK(rig.outbox.size() == 5);
  rig.say(wire::Ack{2, 4, 100});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.outbox.size() == 1;
  }));
  CHECK(rig.session->status().acked_seq == 4);
  CHECK(rig.session->status().sent_records == 5);
  CHECK(rig.session->status().pod_levels.empty());
  rig.say(wire::Ack{2, 5, 100, {{"5eed", "limits"}}});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.outbox.size() == 0;
  }));
  CHECK(rig.session->status().pod_levels.at("5eed") == "limits");
}

TEST_CASE("credit and batch size are respected") {
  Rig rig;
  rig.fill(1, 10);
  rig.greet(welcome(2, 3));
  rig.settle();
  auto batches = rig.take<wire::Samples>();
  REQUIRE(batches.size() == 2);
  CHECK(batches[0].records.size() == 2);
  CHECK(batches[1].records.size() == 1);
  rig.say(wire::Ack{2, 2, 3});
  CHECK(rig.next<wire::Samples>()->records.front().seq == 4);
  rig.settle();
  CHECK(rig.seqs().empty());  // 3, 4 and 5 are in flight
  rig.say(wire::Ack{2, 5, 0});
  rig.settle();
  CHECK(rig.seqs().empty());  // no credit
  rig.say(wire::Ack{2, 5, 100});
  rig.settle();
  CHECK(rig.seqs() == Seqs{6, 7, 8, 9, 10});
}

TEST_CASE("a new link gets exactly the records that are not acknowledged") {
  Rig rig;
  rig.fill(1, 10);
  rig.greet(welcome(4, 100));
  rig.settle();
  CHECK(rig.seqs().size() == 10);
  rig.say(wire::Ack{2, 4, 100});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.outbox.size() == 6;
  }));
  rig.server.reset();
  REQUIRE(rig.until_lost());
  CHECK(rig.session->status().reconnects == 1);
  rig.listen(rig.endpoint);
  // The controller has stored two more than it acknowledged.
  wire::Welcome with = welcome(4, 100);
  with.acked_incarnation = 2;
  with.acked_seq = 6;
  rig.greet(with);
  CHECK(rig.session->status().acked_seq == 6);
  CHECK(rig.outbox.size() == 4);
  rig.settle();
  CHECK(rig.seqs() == Seqs{7, 8, 9, 10});
}

TEST_CASE("records of an earlier incarnation go first and never share a batch") {
  Rig rig;
  REQUIRE(rig.outbox.push(at(1, 7)));
  rig.fill(1, 2);
  rig.greet(welcome(10, 10));
  rig.settle();
  const auto batches = rig.take<wire::Samples>();
  REQUIRE(batches.size() == 2);
  CHECK(batches[0].records.front().incarnation == 1);
  CHECK(batches[1].records.front().incarnation == 2);
  rig.say(wire::Ack{1, 7, 10});
  REQUIRE(eventually([&] {
    rig.step();
    return rig.outbox.size() == 2;
  }));
  CHECK(rig.session->status().acked_seq == 0);
}

TEST_CASE("a mark of a later incarnation removes nothing") {
  Rig rig;
  rig.fill(1, 3);
  wire::Welcome with = welcome(10, 10);
  with.acked_incarnation = 9;
  with.acked_seq = 500;
  rig.greet(with);
  rig.settle();
  CHECK(rig.seqs() == Seqs{1, 2, 3});
  CHECK(rig.outbox.size() == 3);
}

TEST_CASE("an incarnation that an earlier start of the node has used is reported, and no record is dropped") {
  Rig rig;
  rig.fill(1, 3);
  wire::Welcome with = welcome(10, 10);
  with.acked_incarnation = 2;
  with.acked_seq = 500;
  REQUIRE(rig.next<wire::Hello>());
  rig.say(with);
  REQUIRE(eventually([&] {
    rig.step();
    return rig.session->status().reused;
  }));
  CHECK_FALSE(rig.session->status().welcomed);
  CHECK(rig.session->status().problem.find("earlier start") != std::string::npos);
  CHECK(rig.outbox.size() == 3);
  CHECK(rig.take<wire::Samples>().empty());
}

TEST_CASE("a batch that is too large is split, and a record that is too large is dropped") {
  Rig rig;
  rig.fill(1, 8);
  Record large = at(2, 9);
  for (int i = 0; i < 20; ++i) large.node.domains.push_back({std::string(200, 'x'), 1, false});
  REQUIRE(rig.outbox.push(large));
  rig.fill(10, 10);
  const std::size_t three = wire::encode(wire::Samples{{at(2, 1), at(2, 2), at(2, 3)}}).size();
  wire::Welcome with = welcome(100, 100);
  with.max_message_bytes = three;
  rig.greet(with);
  rig.settle();
  for (const auto& batch : rig.got)
    if (std::holds_alternative<wire::Samples>(batch)) CHECK(wire::encode(batch).size() <= three);
  CHECK(rig.seqs() == Seqs{1, 2, 3, 4, 5, 6, 7, 8, 10});
  rig.say(wire::Ack{2, 10, 100});
  CHECK(eventually([&] {
    rig.step();
    return rig.outbox.size() == 0;
  }));
}

TEST_CASE("a session ends after five seconds of silence or twenty without a Welcome, and restarts after its pause") {
  Rig rig;
  rig.greet(welcome(10, 10));
  rig.clock.advance(milliseconds(4999));
  rig.step();
  CHECK(rig.session->status().welcomed);
  rig.clock.advance(milliseconds(1));
  rig.step();
  CHECK_FALSE(rig.session->status().welcomed);
  CHECK(rig.session->status().problem == "the controller has sent nothing for 5 s");
  CHECK(rig.session->status().reconnects == 1);
  rig.got.clear();
  // The first pause is at most 250 ms, and each further one at most twice the previous one.
  milliseconds pause(250);
  for (int loss = 1; loss <= 4; ++loss) {
    rig.clock.advance(pause);
    REQUIRE(rig.next<wire::Hello>());
    rig.clock.advance(19s);
    rig.step();
    CHECK(rig.session->status().reconnects == static_cast<std::uint64_t>(loss));
    rig.clock.advance(1s);
    rig.step();
    CHECK(rig.session->status().reconnects == static_cast<std::uint64_t>(loss) + 1);
    pause *= 2;
    // The pause is at least half of that: nothing is sent before.
    rig.clock.advance(pause / 2 - milliseconds(1));
    rig.step();
    CHECK(rig.take<wire::Hello>().empty());
  }
}

TEST_CASE("any message keeps the session alive, and the controller's pings are answered") {
  Rig rig;
  rig.greet(welcome(10, 10));
  for (int i = 0; i < 4; ++i) {
    rig.clock.advance(3s);
    rig.say(wire::Ping{77, 123});
    const auto pong = rig.next<wire::Pong>();
    REQUIRE(pong);
    CHECK(pong->nonce == 77);
    CHECK(pong->mono_ns == 123);
    CHECK(pong->peer_mono_ns == to_ns(rig.clock.mono()));
  }
  CHECK(rig.session->status().welcomed);
}

TEST_CASE("placements are repeated on a new link until a later ping is answered") {
  Rig rig;
  rig.session->report({"pod-a", "node-1", false, 11, 0});
  rig.greet(welcome(10, 10));
  rig.session->report({"pod-b", "node-1", false, 12, 0});
  auto ping = rig.settle();
  CHECK(rig.take<wire::Placement>().size() == 2);
  rig.answer(ping);
  REQUIRE(eventually([&] {  // the answer arrives before the next placement is reported
    rig.step();
    rig.say(wire::Ping{1, 0});
    return rig.next<wire::Pong>().has_value();
  }));
  rig.session->report({"pod-a", "node-1", true, 11, 0});
  rig.settle();
  CHECK(rig.take<wire::Placement>().size() == 1);

  rig.server.reset();
  REQUIRE(rig.until_lost());
  rig.got.clear();
  rig.listen(rig.endpoint);
  rig.greet(welcome(10, 10));
  ping = rig.settle();
  const auto again = rig.take<wire::Placement>();
  REQUIRE(again.size() == 1);
  CHECK(again[0].pod_uid == "pod-a");
  CHECK(again[0].gone);
}

TEST_CASE("an idle session sleeps until its ping is overdue, and sends the ping early if called shortly before") {
  Rig rig;
  CHECK(rig.session->patience() <= 100ms);
  CHECK(rig.session->listening());
  rig.greet(welcome(10, 10));
  rig.settle();
  CHECK(rig.session->status().welcomed);
  CHECK(rig.session->patience() == 1200ms);
  rig.clock.advance(600ms);
  CHECK(rig.session->patience() == 600ms);
  rig.clock.advance(350ms);
  rig.take<wire::Ping>();
  rig.step();
  CHECK(rig.next<wire::Ping>());
  CHECK(rig.session->patience() == 1200ms);
}

TEST_CASE("a session listens while records wait for credit, but not while all are in flight") {
  Rig rig;
  rig.greet(welcome(10, 2));
  rig.settle();
  CHECK_FALSE(rig.session->listening());
  rig.fill(1, 2);
  CHECK(rig.session->listening());
  rig.settle();
  CHECK_FALSE(rig.session->listening());
  rig.fill(3, 3);
  rig.settle();
  CHECK(rig.session->listening());
}

TEST_CASE("a longer interval requested by an Ack is passed to the owner, and pings are rarer until the next Ack") {
  Rig rig;
  rig.fill(1, 2);
  rig.greet(welcome(10, 10));
  rig.answer(rig.settle());
  CHECK(rig.session->status().tick == 0s);
  const auto ack = [&](std::uint64_t seq, std::uint64_t tick_ms) {
    wire::Ack message{2, seq, 10};
    message.tick_ms = tick_ms;
    rig.say(message);
    REQUIRE(eventually([&] {
      rig.step();
      return rig.session->status().acked_seq == seq;
    }));
  };
  ack(1, 1'000'000);
  CHECK(rig.session->status().tick == 10s);  // a controller cannot silence an agent
  CHECK(rig.session->patience() > 2s);
  rig.clock.advance(1500ms);
  rig.step();
  CHECK(rig.take<wire::Ping>().empty());
  CHECK(rig.session->patience() < 1s);
  rig.clock.advance(500ms);
  REQUIRE(rig.next<wire::Ping>());
  ack(2, 0);
  CHECK(rig.session->status().tick == 0s);
  CHECK(rig.session->patience() < 1500ms);
}
