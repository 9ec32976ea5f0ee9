// A swarm against a scripted controller, over real CURVE sockets and real HTTP.
#include "sim/live/swarm.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "common/wire/codec.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::sim::live;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

namespace {

struct TemporaryDir {
  std::string path;
  TemporaryDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-swarm-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryDir() { std::filesystem::remove_all(path); }
};

// Welcomes every agent, acknowledges all records, answers pings, and keeps the received messages.
struct Controller {
  const Clock& clock;
  transport::Context context;
  std::optional<transport::Server> server;
  std::map<std::string, wire::Hello> hellos;
  std::map<std::string, std::vector<Record>> records;
  std::vector<wire::Placement> placements;
  std::vector<wire::Goodbye> goodbyes;
  std::map<std::string, std::string> routes;  // by node

  Controller(const Clock& the_clock, const transport::KeyPair& key, const std::string& allow, const Log& log)
      : clock(the_clock) {
    auto list = transport::AllowList::parse(allow, "test");
    REQUIRE(list);
    context.serve(std::move(*list), log);
    transport::ServerOptions options;
    options.endpoint = "tcp://127.0.0.1:0";
    options.key = key;
    auto bound = transport::Server::bind(context, options);
    REQUIRE(bound);
    server.emplace(std::move(*bound));
  }
  void send(const std::string& route, const wire::Message& message) { server->send(route, wire::encode(message)); }
  void pump() {
    while (auto incoming = server->receive()) {
      auto message = wire::decode(incoming->bytes);
      REQUIRE(message);
      if (auto* hello = std::get_if<wire::Hello>(&*message)) {
        CHECK(incoming->identity.user_id() == "agent/" + hello->node);
        hellos[hello->node] = *hello;
        routes[hello->node] = incoming->route;
        wire::Welcome welcome;
        welcome.max_batch = 16;
        welcome.credit = 64;
        welcome.max_message_bytes = 1 << 20;
        send(incoming->route, welcome);
      } else if (auto* samples = std::get_if<wire::Samples>(&*message)) {
        REQUIRE_FALSE(samples->records.empty());
        wire::Ack ack;
        ack.incarnation = samples->records.back().incarnation;
        ack.seq = samples->records.back().seq;
        ack.credit = 64;
        send(incoming->route, ack);
        auto& mine = records[incoming->identity.name];
        mine.insert(mine.end(), samples->records.begin(), samples->records.end());
      } else if (auto* ping = std::get_if<wire::Ping>(&*message)) {
        send(incoming->route, wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock.mono()), to_ns(clock.wall())});
      } else if (auto* placement = std::get_if<wire::Placement>(&*message)) {
        placements.push_back(*placement);
      } else if (auto* goodbye = std::get_if<wire::Goodbye>(&*message)) {
        goodbyes.push_back(*goodbye);
      }
    }
  }
};

struct SwarmRig {
  SystemClock clock;
  Log log = Log::silent();
  TemporaryDir dir;
  transport::KeyPair key = transport::KeyPair::generate();
  SwarmOptions options;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<Swarm> swarm;

  explicit SwarmRig(std::size_t nodes, double sleep_speedup = 0) {
    options.nodes = nodes;
    options.fleet.sleep_speedup = sleep_speedup;
    options.tick_s = 0.1;
    options.keys_dir = dir.path + "/keys";
    options.server_key = dir.path + "/server.pub";
    REQUIRE(write_file_atomically(options.server_key, key.public_key + "\n"));
    const auto allow = make_swarm_keys(options);
    REQUIRE(allow);
    controller = std::make_unique<Controller>(clock, key, *allow, log);
    options.endpoint = controller->server->endpoint();
    auto started = Swarm::start(options, clock, log);
    REQUIRE(started);
    swarm = std::move(*started);
  }
  bool eventually(const std::function<bool()>& done) {
    const MonoTime until = clock.mono() + wattle::tests::soon();
    while (clock.mono() < until) {
      swarm->pump(20ms, -1);
      controller->pump();
      if (done()) return true;
    }
    return false;
  }
  http::Client client() const { return http::Client("127.0.0.1", swarm->port()); }
};

std::string pod_json(const std::string& uid, const std::string& node) {
  return json{{"uid", uid}, {"node", node}, {"demand_cores", 0.2}, {"memory_request_bytes", 1e6}}.dump();
}

}  // namespace

TEST_CASE("each simulated node greets with its own key, reports that it is simulated, and sends records") {
  SwarmRig rig(5);
  REQUIRE(rig.eventually([&] {
    std::size_t good = 0;
    for (const auto& [node, records] : rig.controller->records) good += records.size() >= 3;
    return good == 5;
  }));
  CHECK(rig.swarm->status().welcomed == 5);
  for (const auto& [node, hello] : rig.controller->hellos) {
    CHECK(hello.labels.at("simulated") == "true");
    CHECK(hello.cpu_cores > 0);
    const auto& records = rig.controller->records[node];
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(records[i].seq == i + 1);
      CHECK(records[i].incarnation == hello.incarnation);
      CHECK(records[i].node.energy_source == EnergySource::estimated);
      CHECK(records[i].probes.size() == 1);
    }
  }
}

TEST_CASE("a pod bound over HTTP is reported to the controller, is in the records, and is removed") {
  SwarmRig rig(2);
  auto client = rig.client();
  auto bound = client.request("POST", "/pods", pod_json("pod-1", "sim-01"), wattle::tests::soon());
  REQUIRE(bound);
  CHECK(bound->status == 201);
  REQUIRE(rig.eventually([&] { return !rig.controller->placements.empty(); }));
  CHECK(rig.controller->placements[0].pod_uid == "pod-1");
  CHECK(rig.controller->placements[0].node == "sim-01");
  CHECK_FALSE(rig.controller->placements[0].gone);
  REQUIRE(rig.eventually([&] {
    const auto& records = rig.controller->records["sim-01"];
    return !records.empty() && !records.back().workloads.empty() && records.back().workloads[0].name == "pod-1";
  }));
  const auto nodes = client.request("GET", "/nodes", "", wattle::tests::soon());
  REQUIRE(nodes);
  CHECK(json::parse(nodes->body)["nodes"][1]["pods"] == 1);
  CHECK(json::parse(client.request("GET", "/pods", "", wattle::tests::soon())->body)["pods"].size() == 1);
  CHECK(client.request("GET", "/livez", "", wattle::tests::soon())->status == 200);

  CHECK(client.request("DELETE", "/pods/pod-1", "", wattle::tests::soon())->status == 200);
  REQUIRE(rig.eventually([&] { return rig.controller->placements.back().gone; }));
  REQUIRE(rig.eventually([&] { return rig.controller->records["sim-01"].back().workloads.empty(); }));
}

TEST_CASE("a node sends goodbye with the order's ID, is silent while off, and greets again after boot") {
  SwarmRig rig(2, 1000);
  auto client = rig.client();
  auto& controller = *rig.controller;
  const auto power = [&](const std::string& request) {
    const json body{{"request", request}, {"node", "sim-01"}, {"depth", "off"}, {"operation", 9}, {"version", 1}};
    const auto answer = client.request("POST", "/power", body.dump(), wattle::tests::soon());
    REQUIRE(answer);
    CHECK(answer->status == 200);
    return answer->body;
  };
  REQUIRE(client.request("POST", "/pods", pod_json("pod-1", "sim-01"), wattle::tests::soon()));
  REQUIRE(rig.eventually([&] { return controller.records["sim-01"].size() > 2; }));
  CHECK(controller.hellos["sim-01"].labels.at("wattle.dev/sleep") == "auto");
  controller.send(controller.routes["sim-01"], wire::SleepOrder{9, "off", false, false, 0});
  REQUIRE(rig.eventually([&] { return !controller.goodbyes.empty(); }));
  CHECK(controller.goodbyes[0].operation == 9);
  CHECK(controller.goodbyes[0].refused.empty());

  const std::uint64_t before = controller.hellos["sim-01"].incarnation;
  const std::size_t pods_before = controller.placements.size();
  power("sleep");
  REQUIRE(rig.eventually([&] { return json::parse(power("observe"))["state"] == "off"; }));
  const std::size_t records = controller.records["sim-01"].size(), others = controller.records["sim-00"].size();
  REQUIRE(rig.eventually([&] { return controller.records["sim-00"].size() > others + 3; }));
  CHECK(controller.records["sim-01"].size() == records);

  power("wake");
  REQUIRE(rig.eventually([&] { return controller.hellos["sim-01"].incarnation > before; }));
  REQUIRE(rig.eventually([&] { return controller.records["sim-01"].size() > records; }));
  const Record& first = controller.records["sim-01"][records];
  CHECK(first.seq == 1);
  CHECK(first.incarnation == controller.hellos["sim-01"].incarnation);
  REQUIRE(rig.eventually([&] { return controller.placements.size() > pods_before; }));
  CHECK(controller.placements.back().pod_uid == "pod-1");
}

TEST_CASE("a node whose sleep order is cancelled after goodbye continues and stays on") {
  SwarmRig rig(1, 1000);
  auto& controller = *rig.controller;
  REQUIRE(rig.eventually([&] { return !controller.records["sim-00"].empty(); }));
  controller.send(controller.routes["sim-00"], wire::SleepOrder{3, "off", false, false, 0});
  REQUIRE(rig.eventually([&] { return controller.goodbyes.size() == 1; }));
  const std::size_t records = controller.records["sim-00"].size();
  controller.send(controller.routes["sim-00"], wire::SleepOrder{3, "awake", false, false, 0});
  REQUIRE(rig.eventually([&] { return controller.records["sim-00"].size() > records + 3; }));
  controller.send(controller.routes["sim-00"], wire::SleepOrder{4, "off", true, false, 0});
  REQUIRE(rig.eventually([&] { return controller.goodbyes.size() == 2; }));
  CHECK(controller.goodbyes[1].operation == 4);
  CHECK_FALSE(controller.goodbyes[1].refused.empty());
}

TEST_CASE("invalid requests are refused with the reason and have no effect") {
  SwarmRig rig(1);
  auto client = rig.client();
  CHECK(client.request("POST", "/pods", "garbage", wattle::tests::soon())->status == 400);
  CHECK(client.request("POST", "/pods", pod_json("p", "nowhere"), wattle::tests::soon())->status == 404);
  CHECK(client.request("POST", "/pods", pod_json("p", "nowhere"), wattle::tests::soon())->body.find("nowhere") !=
        std::string::npos);
  CHECK(client.request("DELETE", "/pods/stranger", "", wattle::tests::soon())->status == 404);
  CHECK(client.request("GET", "/other", "", wattle::tests::soon())->status == 404);
  REQUIRE(rig.eventually([&] { return rig.swarm->status().welcomed == 1; }));
}

TEST_CASE("a missing node key is an error that names the file and the fix") {
  TemporaryDir dir;
  SystemClock clock;
  const Log log = Log::silent();
  SwarmOptions options;
  options.nodes = 1;
  options.keys_dir = dir.path;
  options.server_key = dir.path + "/server.pub";
  REQUIRE(write_file_atomically(options.server_key, transport::KeyPair::generate().public_key + "\n"));
  const auto swarm = Swarm::start(options, clock, log);
  REQUIRE_FALSE(swarm);
  CHECK(swarm.error().message().find("sim-00.key") != std::string::npos);
  CHECK(swarm.error().message().find("--make-keys") != std::string::npos);
}

TEST_CASE("a configuration is read completely, and all errors are reported at once") {
  TemporaryDir dir;
  const std::string path = dir.path + "/swarm.yaml";
  REQUIRE(write_file_atomically(path,
                                "nodes: 3\nlisten: 127.0.0.1:0\nseed: 9\ntick: 500ms\nlatency:\n  low_ms: 1\n"
                                "  shifts:\n    - {at: 30s, node: sim-01, latency_ms: 60}\n"));
  SwarmOptions options;
  REQUIRE(load_swarm_config(path, options));
  CHECK(options.nodes == 3);
  CHECK(options.tick_s == 0.5);
  CHECK(options.fleet.seed == 9);
  REQUIRE(options.fleet.shifts.size() == 1);
  CHECK(options.fleet.shifts[0].at_s == 30);
  REQUIRE(write_file_atomically(path, "nodes: 0\nlistne: 1\nlisten: nowhere\n"));
  const auto bad = load_swarm_config(path, options);
  REQUIRE_FALSE(bad);
  for (const char* part : {"nodes", "listne", "listen"}) CHECK(bad.error().message().find(part) != std::string::npos);
}
