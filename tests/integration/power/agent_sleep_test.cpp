// A node's sleep, end to end: the controller's and the agent's sessions over real sockets, with a fake login manager on
// a private D-Bus.
#include <doctest/doctest.h>

#include "agent/power/node_sleep.hpp"
#include "common/transport/outbox.hpp"
#include "common/wire/codec.hpp"
#include "controller/ingest/sleep_link.hpp"
#include "tests/unit/agent/power/clock_tree.hpp"
#include "tests/unit/agent/power/fake_logind.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/helpers.hpp"
#include "tests/unit/transport/world.hpp"

using namespace wattle;
using namespace wattle::controller;
using transport::testing::eventually;

namespace {

struct SleepSink final : TelemetrySink {
  std::vector<wire::Goodbye> goodbyes;
  std::vector<std::uint64_t> seqs;
  std::size_t hellos = 0, lost = 0;
  void on_hello(const wire::Hello&) override { ++hellos; }
  void on_record(const std::string&, const Record& record) override { seqs.push_back(record.seq); }
  void on_live(const std::string&, const Record&) override {}
  void on_placement(const wire::Placement&) override {}
  void on_lost(const std::string&) override { ++lost; }
  void on_goodbye(const std::string& node, const wire::Goodbye& goodbye) override {
    CHECK(node == "node-1");
    goodbyes.push_back(goodbye);
  }
};

struct BothEnds {
  wattle::test::TempDir dir;
  agent::test::FakeLogind logind{dir.path()};
  agent::test::ClockTree tree{dir.path()};
  transport::testing::World world;
  ManualClock clock{mono_from_ns(1'000'000'000)};
  SleepSink sink;
  Telemetry telemetry{clock, world.log, sink};
  std::optional<transport::Server> server;
  std::optional<SleepLink> link;
  transport::MemoryOutbox outbox{100};
  std::optional<transport::AgentSession> session;
  std::optional<agent::NodeSleep> following;
  Duration suspended{};

  BothEnds() {
    auto bound = transport::Server::bind(world.context, world.server_options());
    REQUIRE(bound);
    server.emplace(std::move(*bound));
    link.emplace(telemetry, *server);
    auto client = transport::Client::connect(world.context, world.client_options(server->endpoint(), world.agent_key));
    REQUIRE(client);
    session.emplace(std::move(*client), outbox, controller::test::hello_of("node-1", 2), clock, world.log, 42);
    agent::SleepConfig config;
    config.sleep = true;
    following.emplace(
        config, agent::Roots::below(dir.path()), dir.file("state"), [this] { return suspended; }, clock, world.log);
    REQUIRE(until([&] { return session->status().welcomed; }));
  }
  void step() {
    const std::vector<const transport::Socket*> sockets{&session->socket(), &*server};
    transport::poll(sockets, {}, std::chrono::milliseconds(10));
    while (const auto incoming = server->receive())
      for (const wire::Message& answer : telemetry.receive(*incoming))
        server->send(incoming->route, wire::encode(answer));
    session->pump();
    following->step(*session);
  }
  bool until(const std::function<bool()>& holds) {
    return eventually([&] {
      step();
      return holds();
    });
  }
  void record(std::uint64_t seq) { REQUIRE(outbox.push(controller::test::record_at(seq, 2))); }
};

}  // namespace

TEST_CASE("a node sleeps by order, grant and logind without counting as lost, and sends the rest when awake") {
  BothEnds ends;
  ends.record(1);
  REQUIRE(ends.link->order("node-1", {7, "suspend", true, false, 600}));
  REQUIRE(ends.until([&] { return !ends.sink.goodbyes.empty(); }));
  CHECK(ends.sink.goodbyes.front().operation == 7);
  CHECK(ends.sink.goodbyes.front().refused.empty());
  CHECK(ends.sink.seqs == std::vector<std::uint64_t>{1});
  ends.record(2);
  REQUIRE(ends.link->order("node-1", {7, "suspend", true, true, 600}));
  REQUIRE(ends.until([&] { return ends.session->silent(); }));
  CHECK(ends.logind.ordered() == std::vector<std::string>{"Suspend"});
  CHECK(ends.tree.alarm() == "1700000600\n");
  ends.clock.advance(std::chrono::seconds(10));
  ends.telemetry.expire();
  CHECK(ends.telemetry.sessions() == 0);
  CHECK_FALSE(ends.link->order("node-1", {8, "suspend", true, false, 0}));
  CHECK(ends.sink.seqs == std::vector<std::uint64_t>{1});

  ends.suspended = std::chrono::hours(1);
  REQUIRE(ends.until([&] { return ends.sink.seqs.size() == 2; }));
  CHECK(ends.sink.hellos == 2);
  CHECK(ends.sink.goodbyes.size() == 1);
  CHECK(ends.tree.alarm() == "0\n");
}

TEST_CASE("a node with a held inhibitor answers with the reason and stays connected") {
  BothEnds ends;
  ends.logind.inhibit({{"sleep", "backup", "a backup runs", "block"}});
  REQUIRE(ends.link->order("node-1", {7, "suspend", true, false, 0}));
  REQUIRE(ends.until([&] { return !ends.sink.goodbyes.empty(); }));
  CHECK(ends.sink.goodbyes.front().refused.find("a backup runs") != std::string::npos);
  ends.record(1);
  REQUIRE(ends.until([&] { return ends.sink.seqs.size() == 1; }));
  CHECK(ends.logind.ordered().empty());
  CHECK(ends.sink.lost == 0);
}
