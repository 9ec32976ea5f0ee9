#include "common/transport/session.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "common/wire/codec.hpp"
#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::test;

namespace {
using std::chrono::milliseconds;
using namespace std::chrono_literals;

Record at(std::uint64_t incarnation, std::uint64_t seq) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  record.node.cpu_used_cores = 0.5;
  return record;
}

wire::Hello hello() {
  wire::Hello message;
  message.node = "node-1";
  message.incarnation = 2;
  message.max_batch = 100;
  return message;
}

wire::Welcome welcome(std::uint64_t max_batch, std::uint64_t credit) {
  wire::Welcome message;
  message.max_batch = max_batch;
  message.credit = credit;
  message.max_message_bytes = 1 << 20;
  return message;
}

// An agent's session, and a controller that says only what the test makes it say.
struct Rig {
  World world;
  ManualClock clock{mono_from_ns(1'000'000'000)};
  MemoryOutbox outbox{1000};
  std::optional<Server> server;
  std::string endpoint;
  std::optional<AgentSession> session;
  std::string route;
  std::vector<wire::Message> got;  // and not yet taken

  explicit Rig(wire::Hello greeting = hello()) {
    listen("tcp://127.0.0.1:0");
    endpoint = server->endpoint();
    auto client = Client::connect(world.context, world.client_options(endpoint, world.agent_key));
    REQUIRE(client);
    session.emplace(std::move(*client), outbox, std::move(greeting), clock, world.log, 42);
  }
  void listen(const std::string& where) {
    REQUIRE(eventually([&] {
      auto bound = Server::bind(world.context, world.server_options(where));
      if (bound) server.emplace(std::move(*bound));
      return bound.has_value();
    }));
  }
  void fill(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t seq = from; seq <= to; ++seq) REQUIRE(outbox.push(at(2, seq)));
  }
  void step() {
    std::vector<const Socket*> sockets{&session->socket()};
    if (server) sockets.push_back(&*server);
    poll(sockets, {}, milliseconds(10));
    session->pump();
    while (server) {
      auto incoming = server->receive();
      if (!incoming) break;
      CHECK(incoming->identity.user_id() == "agent/node-1");
      route = incoming->route;
      auto message = wire::decode(incoming->bytes);
      REQUIRE(message);
      got.push_back(std::move(*message));
    }
  }
  // The next message of this kind; those before it are kept apart.
  template <class T>
  std::optional<T> next() {
    std::optional<T> found;
    eventually([&] {
      for (auto it = got.begin(); it != got.end() && !found; ++it)
        if (auto* message = std::get_if<T>(&*it)) {
          found = *message;
          got.erase(it);
          break;
        }
      if (!found) step();
      return found.has_value();
    });
    return found;
  }
  template <class T>
  std::vector<T> take() {
    std::vector<T> all;
    std::vector<wire::Message> rest;
    for (auto& message : got)
      if (auto* one = std::get_if<T>(&message))
        all.push_back(std::move(*one));
      else
        rest.push_back(std::move(message));
    got = std::move(rest);
    return all;
  }
  void say(const wire::Message& message) { REQUIRE(server->send(route, wire::encode(message))); }
  void greet(const wire::Welcome& with) {
    REQUIRE(next<wire::Hello>());
    say(with);
    REQUIRE(eventually([&] {
      step();
      return session->status().welcomed;
    }));
  }
  // The link keeps order: when a Ping sent from now on is here, everything said before it is too.
  wire::Ping settle() {
    clock.advance(1s);
    for (;;) {
      const auto ping = next<wire::Ping>();
      REQUIRE(ping);
      if (ping->mono_ns == to_ns(clock.mono())) return *ping;
    }
  }
  void answer(const wire::Ping& ping) { say(wire::Pong{ping.nonce, ping.mono_ns, 7, 8}); }
  std::vector<std::uint64_t> seqs() {
    std::vector<std::uint64_t> all;
    for (const auto& batch : take<wire::Samples>())
      for (const Record& record : batch.records) all.push_back(record.seq);
    return all;
  }
  bool until_lost() {
    return eventually([&] {
      step();
      return !session->status().welcomed;
    });
  }
};
using Seqs = std::vector<std::uint64_t>;
}  // namespace

TEST_CASE("a session greets, is welcomed, sends its records and forgets the acknowledged") {
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
}

TEST_CASE("credit and batch size are honoured") {
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
  // The controller has kept two more than it managed to say.
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

TEST_CASE("a mark of a later incarnation than ours forgets nothing") {
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

TEST_CASE("a batch that is too large is halved, and a record that is too large is left out") {
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

TEST_CASE("five seconds of silence end the session, and it begins again after its pause") {
  Rig rig;
  rig.greet(welcome(10, 10));
  rig.clock.advance(milliseconds(4999));
  rig.step();
  CHECK(rig.session->status().welcomed);
  rig.clock.advance(milliseconds(1));
  rig.step();
  CHECK_FALSE(rig.session->status().welcomed);
  CHECK(rig.session->status().problem == "the controller is silent for 5 s");
  CHECK(rig.session->status().reconnects == 1);
  rig.got.clear();
  // The first pause is at most 250 ms, and every further one at most twice the one before.
  milliseconds pause(250);
  for (int loss = 1; loss <= 4; ++loss) {
    rig.clock.advance(pause);
    REQUIRE(rig.next<wire::Hello>());
    rig.clock.advance(5s);
    rig.step();
    CHECK(rig.session->status().reconnects == static_cast<std::uint64_t>(loss) + 1);
    pause *= 2;
    // Half the pause is the least: nothing happens before.
    rig.clock.advance(pause / 2 - milliseconds(1));
    rig.step();
    CHECK(rig.take<wire::Hello>().empty());
  }
}

TEST_CASE("anything heard keeps the session alive, and the controller's pings are answered") {
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
  REQUIRE(eventually([&] {  // the answer is heard before the next placement is told
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
