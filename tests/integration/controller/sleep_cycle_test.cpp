// sleep_cycle: a whole controller in mode auto puts a node to sleep and wakes it, with a program as its driver, its
// store on disk, and agents over real sockets.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "common/wire/codec.hpp"
#include "controller/power/power_config.hpp"
#include "controller/store/store.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
namespace core = wattle::placement::sleep;

namespace {

// The machine of a node is a file that contains "on" or "off".
constexpr const char* kProgram = R"sh(#!/bin/sh
request=$(cat)
node=${request#*\"node\":\"}
machine=$(dirname "$0")/machine-${node%%\"*}
case "$request" in
  *'"request":"probe"'*) echo '{"depths": ["off"], "wake_time_s": 5, "asleep_power_w": 1}' ;;
  *'"request":"sleep"'*) echo off >"$machine" ;;
  *'"request":"wake"'*) echo on >"$machine" ;;
  *) printf '{"state": "%s"}' "$(cat "$machine")" ;;
esac
)sh";

// An agent that sends reports and agrees to each order to sleep.
class AgreeingAgent {
 public:
  AgreeingAgent(World& world, std::size_t index, std::uint64_t incarnation)
      : clock_(world.clock), node_(World::name(index)), incarnation_(incarnation) {
    auto client = transport::Client::connect(world.context,
                                             world.to(world.controller->endpoints().telemetry, world.agents[index]));
    REQUIRE(client);
    client_.emplace(std::move(*client));
  }
  const std::string& node() const { return node_; }
  void turn(std::vector<wire::SleepOrder>& orders) {
    if (!greeted_) {
      wire::Hello hello = hello_of(node_, incarnation_);
      hello.labels = {{"wattle.dev/sleep", "auto"}};
      greeted_ = client_->send(wire::encode(hello)).has_value();
    }
    while (const auto bytes = client_->receive()) {
      const auto message = wire::decode(*bytes);
      REQUIRE(message);
      if (std::holds_alternative<wire::Welcome>(*message)) welcomed_ = true;
      const auto* order = std::get_if<wire::SleepOrder>(&*message);
      if (order == nullptr) continue;
      orders.push_back(*order);
      if (!order->granted) CHECK(client_->send(wire::encode(wire::Goodbye{order->operation, ""})));
    }
    if (!welcomed_) return;
    Record record = record_at(++seq_, incarnation_);
    record.interval_ns = 20'000'000;
    record.mono_ns = to_ns(clock_.mono());
    CHECK(client_->send(wire::encode(wire::Samples{{record}, {}})));
  }

 private:
  const Clock& clock_;
  std::string node_;
  std::uint64_t incarnation_, seq_ = 0;
  bool greeted_ = false, welcomed_ = false;
  std::optional<transport::Client> client_;
};

struct SleepingWorld {
  World world{2};
  std::unique_ptr<transport::AskClient> asks;
  std::map<std::string, std::unique_ptr<AgreeingAgent>> agents;  // of machines that are on
  std::set<std::string> off;                                     // machines that were seen off
  std::vector<wire::SleepOrder> orders;

  SleepingWorld() {
    std::ofstream(world.dir / "power") << kProgram;
    std::filesystem::permissions(world.dir / "power", std::filesystem::perms::owner_all);
    for (const char* node : {"n0", "n1"}) std::ofstream(world.dir / (std::string("machine-") + node)) << "on\n";
    std::ofstream(world.dir / "drivers.yaml") << "nodes:\n  - exec: {command: [" << world.dir / "power"
                                              << "]}\n"
                                              << "    node: '*'\n";
    auto drivers = power::load_power_config(world.dir / "drivers.yaml");
    REQUIRE(drivers);
    world.config.mode = Mode::shadow;
    world.config.learn.enabled = false;
    world.config.policy = "model-greedy";
    world.config.store.path = world.dir / "store.db";
    world.config.sleep.mode = core::SleepMode::automatic;
    world.config.sleep.drivers_file = world.dir / "drivers.yaml";
    world.config.sleep.drivers = std::make_shared<const power::PowerConfig>(std::move(*drivers));
    start();
  }
  void start() {
    agents.clear();
    asks.reset();
    world.controller.reset();
    world.start();
    asks = std::make_unique<transport::AskClient>(world.ask_client(world.operator_key));
  }
  bool runs(const std::string& node) {
    std::string text;
    std::ifstream(world.dir / ("machine-" + node)) >> text;
    if (text == "off") off.insert(node);
    return text != "off";
  }
  // Agents of machines that are on send reports and agree to sleep.
  bool until(const std::function<bool()>& done) {
    const MonoTime limit = world.clock.mono() + kPatience;
    while (world.clock.mono() < limit) {
      for (std::size_t i = 0; i < 2; ++i) {
        const std::string node = World::name(i);
        if (!runs(node)) {
          agents.erase(node);
          continue;
        }
        auto& agent = agents[node];
        if (!agent) agent = std::make_unique<AgreeingAgent>(world, i, ++incarnation);
        agent->turn(orders);
      }
      if (done()) return true;
      transport::poll({}, {}, 20ms);
    }
    return false;
  }
  bool begins(const std::string& node) {
    return until([&] { return query(*asks, "sleep-now", {{"node", node}}).has_value(); });
  }
  // The records on disk after the controller has stopped.
  power::PowerRows end() {
    agents.clear();
    asks.reset();
    world.controller.reset();
    StoreOptions options;
    options.file.path = world.config.store.path;
    auto store = Store::start(options, world.clock, world.log);
    REQUIRE(store);
    auto rows = power::power_store_in(**store)->load();
    REQUIRE(rows);
    return std::move(*rows);
  }

  std::uint64_t incarnation = 0;
};

core::NodePowerRecord record_of_node(const power::PowerRows& rows, const std::string& node) {
  for (const power::PowerRow& row : rows.nodes)
    if (row.node == node) return *row.record;
  return {};
}

}  // namespace

TEST_CASE_FIXTURE(SleepingWorld, "auto: a node sleeps by its driver after its agent's goodbye, wakes, and is proven") {
  REQUIRE(begins("n0"));
  REQUIRE(until([&] { return off.contains("n0") && runs("n0"); }));
  REQUIRE_FALSE(orders.empty());
  CHECK_FALSE(orders.front().granted);
  CHECK(orders.front().depth == "off");
  REQUIRE(until([&] { return answer(*asks, "sleep-wake", {{"all", "yes"}})["woken"].empty(); }));
  CHECK_FALSE(off.contains("n1"));
  const power::PowerRows rows = end();
  const core::NodePowerRecord record = record_of_node(rows, "n0");
  CHECK(record.state == core::PowerState::awake);
  CHECK(record.round_trips == 1);
  CHECK(record.failures == 0);
  CHECK(record.measured.wake_s.has_value());
  CHECK(record_of_node(rows, "n1").operation == 0);
}

TEST_CASE_FIXTURE(SleepingWorld, "auto: a controller that restarts while a node sleeps knows the node and wakes it") {
  REQUIRE(begins("n1"));
  REQUIRE(until([&] { return !runs("n1"); }));
  start();
  const auto nodes = answer(*asks, "nodes");
  CHECK(nodes.dump().find("\"n1\"") != std::string::npos);
  // The node's round trip is not proven, so it wakes without an order.
  REQUIRE(until([&] { return runs("n1"); }));
  REQUIRE(until([&] { return answer(*asks, "sleep-wake", {{"all", "yes"}})["woken"].empty(); }));
  CHECK(record_of_node(end(), "n1").state == core::PowerState::awake);
}
