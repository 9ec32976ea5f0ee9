// Decisions across a restart and a kill: decisions that were reported as kept exist, and no ID is issued twice.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "common/http/client.hpp"
#include "tests/integration/agent/child.hpp"
#include "tests/integration/controller/free_port.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;
using wattle::agent::test::Child;

namespace {

std::uint64_t decided(transport::AskClient& shim, const std::string& uid) {
  auto answer = shim.ask(ask_for(uid, {"n0", "n1"}), wattle::tests::soon());
  if (!answer) FAIL(answer.error().message());
  return answer->decision_id;
}

std::set<std::uint64_t> ids_of(const json& document) {
  std::set<std::uint64_t> ids;
  for (const json& decision : document["decisions"]) ids.insert(decision["id"].get<std::uint64_t>());
  return ids;
}

}  // namespace

TEST_CASE("a restart reads decisions and outcomes back and serves those of a week by socket and HTTP") {
  World world(2);
  world.config.store.path = world.dir / "store.db";
  world.config.learn.enabled = false;  // only the store has the decision IDs
  world.config.decision_ring = 10;
  world.config.policy = "node-order";  // most policies give no advice between two equal nodes
  world.start();
  std::uint64_t last = 0;
  {
    Agents agents = connect_agents(world, 2);
    auto shim = world.ask_client(world.shim);
    auto reader = world.ask_client(world.reader);
    for (int i = 0; i < 12; ++i) {
      last = decided(shim, "p" + std::to_string(i));
      answer(reader, "status");  // one ask per turn: one turn can overflow the ring
    }
    agents[0]->place("p11");
    CHECK(run_until(world, agents, [&] { return !answer(reader, "decisions")["decisions"][0]["outcome"].is_null(); }));
  }
  world.controller.reset();
  world.start();
  auto reader = world.ask_client(world.reader);
  const json ring = answer(reader, "decisions", {{"limit", "1000"}});
  CHECK(ring["decisions"].size() == 10);
  CHECK(ring["decisions"][0]["id"] == last);
  CHECK(ring["decisions"][0]["placed_on"] == "n0");
  CHECK(ring["decisions"][0]["outcome"]["terms"].contains("mean_power_w"));
  CHECK(answer(reader, "explain", {{"pod", "p11"}})["decision"]["winner_terms"].is_object());

  const json week = answer(reader, "decisions", {{"since", "7d"}, {"limit", "1000"}});
  CHECK(week["kept"] == 12);
  CHECK(week["decisions"].size() == 12);
  CHECK(week["decisions"][0] == ring["decisions"][0]);
  CHECK(answer(reader, "decisions", {{"since", "7d"}, {"limit", "5"}})["decisions"].size() == 5);
  const auto wrong = query(reader, "decisions", {{"since", "soon"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("argument since: invalid value 'soon'") != std::string::npos);

  http::Client web("127.0.0.1", world.controller->endpoints().http_port);
  const auto same = web.request("GET", "/api/v1/decisions?since=7d&limit=1000", "", wattle::tests::soon());
  REQUIRE(same);
  CHECK(same->status == 200);
  CHECK(json::parse(same->body) == week);
  CHECK(web.request("GET", "/api/v1/decisions?since=soon", "", wattle::tests::soon())->status == 400);

  auto shim = world.ask_client(world.shim);
  CHECK(decided(shim, "later") == last + 1);
}

TEST_CASE("a repeatedly killed controller has every decision that it reported as kept") {
  World world(2);
  const std::uint16_t port = free_port();
  world.config.ask_endpoint = "tcp://127.0.0.1:" + std::to_string(port);
  const std::string config =
      "mode: live\nkey: " + world.config.key_file + "\nallow_list: " + world.config.allow_file +
      "\ndata_dir: " + world.config.data_dir + "\nstore: {path: " + (world.dir / "store.db") +
      "}\ntelemetry: {endpoint: \"tcp://127.0.0.1:0\"}\nfeed: {endpoint: \"tcp://127.0.0.1:0\"}\n"
      "ask: {endpoint: \"" +
      world.config.ask_endpoint + "\"}\nhttp: {port: 0}\nlearn: {enabled: false}\nlog: {level: error}\n";
  REQUIRE(write_file_atomically(world.dir / "controller.yaml", config));
  std::mt19937 random(20240611);
  std::set<std::uint64_t> kept;
  std::uint64_t most = 0;
  int pod = 0;
  for (int kill = 0; kill < 4; ++kill) {
    Child controller({tests::bin_dir() + "/wattle-controller", "--config", world.dir / "controller.yaml"});
    const auto client = [&](const KeyPair& key) {
      auto made = transport::AskClient::connect(world.context, world.to(world.config.ask_endpoint, key));
      REQUIRE(made);
      return std::move(*made);
    };
    auto shim = client(world.shim), reader = client(world.reader);
    REQUIRE(shim.snapshot(wattle::tests::late()));  // an ask does not wait for the link
    const json found = answer(reader, "decisions", {{"since", "1h"}, {"limit", "1000"}});
    for (const std::uint64_t id : kept) CHECK(ids_of(found).contains(id));
    // A random moment within the following transactions.
    for (std::uint64_t left = 3 + random() % 20; left > 0; --left) {
      const std::uint64_t id = decided(shim, "p" + std::to_string(pod++));
      if (!kept.empty()) CHECK(id > *kept.rbegin());
      most = std::max(most, id);
      if (left % 5 == 0) kept = ids_of(answer(reader, "decisions", {{"since", "1h"}, {"limit", "1000"}}));
    }
    controller.end(SIGKILL);
  }
  CHECK(kept.size() > 5);
  CHECK(*kept.rbegin() <= most);
}
