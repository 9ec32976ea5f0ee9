// The built CLI against a scripted controller, with real CURVE, allow list and query socket.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/json/value.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::transport;

namespace {
const std::string kNodes =
    R"({"nodes":[{"name":"worker-1","connected":true,"age_ms":410.0,"power_w":12.3,"energy_source":"estimated","psi":{}}]})";
const std::string kDoctor =
    R"({"controller":{"ok":true,"findings":[]},"nodes":[{"name":"worker-1","connected":false,"age_ms":null,"findings":[]}]})";
const std::string kGaps =
    R"({"gaps":[{"node":"worker-1","incarnation":7,"first_seq":5,"last_seq":9,"records":5,"why":"never received","noticed_wall_s":0},)"
    R"({"node":"worker-2","incarnation":8,"first_seq":1,"last_seq":1,"records":1,"why":"never received","noticed_wall_s":0}]})";

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

class World {
 public:
  World() {
    std::string name = (std::filesystem::temp_directory_path() / "wattle-cli-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    REQUIRE(run("keys new reader stranger server other").exit_code == 0);
    REQUIRE(run("keys allow reader.pub reader ops --allow-list allow").exit_code == 0);
    context_.serve(AllowList::load(folder_ + "/allow").value(), log_);
    ServerOptions options;
    options.endpoint = "tcp://127.0.0.1:0";
    options.key = KeyPair::load(folder_ + "/server").value();
    auto bound = Server::bind(context_, options);
    REQUIRE(bound);
    endpoint_ = bound->endpoint();
    thread_ = std::thread([this, server = std::move(*bound)]() mutable { serve(server); });
  }
  ~World() {
    stop_ = true;
    thread_.join();
    std::filesystem::remove_all(folder_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Ran run(const std::string& words) const {
    const std::string line = "cd '" + folder_ + "' && HOME='" + folder_ + "' WATTLE_CONFIG= '" + tests::bin_dir() +
                             "/wattle' " + words + " >out 2>err";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of("out"), text_of("err")};
  }
  Ran ask(const std::string& words, const std::string& key = "reader", const std::string& server = "server") const {
    return run(words + " --timeout 20s --server " + endpoint_ + " --key " + key + " --server-key " + server + ".pub");
  }
  const std::string& endpoint() const { return endpoint_; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  void serve(Server& server) {
    while (!stop_) {
      const Socket* sockets[] = {&server};
      poll(sockets, {}, std::chrono::milliseconds(20));
      while (const auto incoming = server.receive()) {
        const auto message = wire::decode(incoming->bytes);
        if (!message || !std::holds_alternative<wire::Query>(*message)) continue;
        server.send(incoming->route, wire::encode(answer(std::get<wire::Query>(*message), incoming->identity)));
      }
    }
  }
  static wire::Reply answer(const wire::Query& query, const Identity& from) {
    wire::Reply reply;
    reply.request_id = query.request_id;
    reply.ok = true;
    if (from.role != Role::reader || from.name != "ops") {
      reply.ok = false;
      reply.error = "not the reader that was expected";
    } else if (query.what == "nodes") {
      reply.body = kNodes;
    } else if (query.what == "gaps") {
      reply.body = kGaps;
    } else if (query.what == "doctor") {
      reply.body = kDoctor;
    } else if (query.what == "status") {
      reply.body = "not JSON";
    } else {
      reply.ok = false;
      const auto name = query.arguments.find("name");
      reply.error = "no node '" + (name == query.arguments.end() ? "" : name->second) + "' (see wattle nodes)";
    }
    return reply;
  }

  std::string folder_, endpoint_;
  Log log_ = Log::silent();
  Context context_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the wattle command against a scripted controller") {
  const World world;
  SUBCASE("nodes prints a table without colours when the output is not a terminal") {
    const Ran ran = world.ask("nodes");
    CHECK(ran.exit_code == 0);
    CHECK(ran.err == "");
    CHECK(has(ran.out, "worker-1  up"));
    CHECK(has(ran.out, "12.3 W est"));
    CHECK_FALSE(has(ran.out, "\x1b"));
  }
  SUBCASE("json prints the controller's document, and yaml has the same content") {
    const Ran json = world.ask("nodes -o json");
    CHECK(json.exit_code == 0);
    CHECK(wattle::OrderedJson::parse(json.out) == wattle::OrderedJson::parse(kNodes));
    const Ran yaml = world.ask("-o yaml nodes");
    CHECK(has(yaml.out, "nodes:\n  - name: worker-1\n    connected: true\n    age_ms: 410.0\n"));
  }
  SUBCASE("the controller's refusal is printed, with exit code 1") {
    const Ran ran = world.ask("node nemo");
    CHECK(ran.exit_code == 1);
    CHECK(ran.out == "");
    CHECK(has(ran.err, "wattle: node: " + world.endpoint() + " node: no node 'nemo' (see wattle nodes)\n"));
  }
  SUBCASE("the error about an answer that is not JSON names the endpoint and the document") {
    const Ran ran = world.ask("status");
    CHECK(ran.exit_code == 1);
    CHECK(has(ran.err, world.endpoint() + " status: the answer is not a JSON object"));
  }
  SUBCASE("gaps are queried from the controller, for all nodes or for one") {
    const Ran all = world.ask("gaps -o json");
    CHECK(all.exit_code == 0);
    CHECK(wattle::OrderedJson::parse(all.out) == wattle::OrderedJson::parse(kGaps));
    const Ran one = world.ask("gaps --node worker-2 -o yaml");
    CHECK(has(one.out, "gaps:\n  - node: worker-2\n    incarnation: 8\n"));
    CHECK_FALSE(has(one.out, "worker-1"));
    CHECK(has(world.ask("gaps").out, "worker-1  1970-01-01 00:00:00Z"));
  }
  SUBCASE("doctor exits 1 when a node is disconnected, and still shows the node") {
    const Ran ran = world.ask("doctor");
    CHECK(ran.exit_code == 1);
    CHECK(has(ran.out, "0 of 1 nodes connected"));
    CHECK(world.ask("doctor -o json").exit_code == 1);
  }
  SUBCASE("a key that is not on the allow list gets its own error") {
    const Ran ran = world.ask("nodes", "stranger");
    CHECK(ran.exit_code == 1);
    CHECK(has(ran.err, world.endpoint() + " does not allow your key"));
    CHECK(has(ran.err, "stranger"));
  }
  SUBCASE("a wrong server key gets its own error") {
    const Ran ran = world.ask("nodes", "reader", "other");
    CHECK(ran.exit_code == 1);
    CHECK(has(ran.err, world.endpoint() + " rejected the handshake"));
    CHECK(has(ran.err, "other.pub"));
  }
  SUBCASE("an endpoint without a listener is reported with a fix") {
    const Ran ran = world.run("nodes --timeout 300ms --server tcp://127.0.0.1:1 --key reader --server-key server.pub");
    CHECK(ran.exit_code == 1);
    CHECK(has(ran.err, "tcp://127.0.0.1:1"));
    CHECK(has(ran.err, "the controller is running"));
  }
  SUBCASE("a user without a configuration gets an error that says how to create one") {
    const Ran ran = world.run("nodes");
    CHECK(ran.exit_code == 2);
    CHECK(has(ran.err, "wattle: nodes: no configuration: none of WATTLE_CONFIG, "));
    CHECK(has(ran.err, "scripts/demo print one"));
    CHECK(has(world.run("nodes --key nowhere").err, "wattle: nodes: nowhere: No such file or directory"));
  }
  SUBCASE("an unreachable controller or an existing file ends a backup immediately") {
    const std::string away = " --timeout 300ms --server tcp://127.0.0.1:1 --key reader --server-key server.pub";
    world.write("controller.yaml", "key: server\nallow_list: allow\ndata_dir: data\nstore: {path: data/store.db}\n");
    const Ran taken = world.run("backup allow --config controller.yaml" + away);
    CHECK(taken.exit_code == 1);
    CHECK(has(taken.err, "allow: already exists"));
    const Ran free = world.run("backup kept --config controller.yaml" + away);
    CHECK(free.exit_code == 1);
    CHECK(has(free.err, "the controller is running"));
  }
}
