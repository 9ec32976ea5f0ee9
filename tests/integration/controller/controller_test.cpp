#include "controller/controller.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "common/wire/codec.hpp"
#include "placement/decide/board.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

// Asks for a pod and runs it where the scores say; among nodes of equal value, on the first.
std::string place_one(Agents& agents, transport::AskClient& shim, const std::string& uid) {
  std::vector<std::string> candidates;
  for (const auto& agent : agents) candidates.push_back(agent->node());
  const auto answer = shim.ask(ask_for(uid, candidates), wattle::tests::soon());
  if (!answer) FAIL(answer.error().message());
  REQUIRE(answer->scores.size() == agents.size());
  const auto best = std::max_element(answer->scores.begin(), answer->scores.end());
  INFO(answer->reason);
  CHECK(*best == (answer->neutral ? 0 : 10));
  if (answer->neutral) CHECK(answer->reason.find("the same value") != std::string::npos);
  agents[static_cast<std::size_t>(best - answer->scores.begin())]->place(uid);
  return agents[static_cast<std::size_t>(best - answer->scores.begin())]->node();
}

}  // namespace

TEST_CASE("the whole loop over real sockets takes records, returns scores and joins outcomes") {
  World world(3);
  world.start();
  auto agents = connect_agents(world, 3);
  auto reader = world.ask_client(world.reader);
  auto shim = world.ask_client(world.shim);
  const json nodes = answer(reader, "nodes");
  REQUIRE(nodes["nodes"].size() == 3);
  CHECK(nodes["nodes"][0]["power_w"].get<double>() == doctest::Approx(50));

  std::vector<std::string> placed_on;
  for (int i = 0; i < 8; ++i) placed_on.push_back(place_one(agents, shim, "pod-" + std::to_string(i)));
  REQUIRE(run_until(world, agents, [&] { return answer(reader, "status")["outcomes"] == 8; }));
  const json explained = answer(reader, "explain", {{"pod", "pod-0"}})["decision"];
  CHECK(explained["placed_on"] == placed_on[0]);
  CHECK(explained["outcome"]["terms"].contains("marginal_w"));
  CHECK(answer(reader, "pods")["pods"].size() == 8);

  const auto& status = answer(reader, "status");
  if (status["mode_reason"] == "") {  // built with libtorch
    REQUIRE(run_until(world, agents, [&] { return answer(reader, "status")["model_step"].get<std::uint64_t>() >= 2; }));
    CHECK(answer(reader, "status")["replay"].get<std::uint64_t>() > 0);
  }

  http::Client web("127.0.0.1", world.controller->endpoints().http_port);
  const auto metrics = web.request("GET", "/metrics", "", wattle::tests::soon());
  REQUIRE(metrics);
  CHECK(metrics->body.find("wattle_controller_outcomes_total 8") != std::string::npos);
  const auto api = web.request("GET", "/api/v1/nodes", "", wattle::tests::soon());
  REQUIRE(api);
  CHECK(json::parse(api->body)["nodes"].size() == 3);
  CHECK(web.request("GET", "/api/v1/node?name=nope", "", wattle::tests::soon())->status == 404);
  CHECK(web.request("GET", "/livez", "", wattle::tests::soon())->status == 200);
}

TEST_CASE("a restart resumes gradient steps, replay and decision ids from the checkpoint") {
  World world(2);
  world.start();
  std::uint64_t steps = 0, replay = 0;
  {
    auto agents = connect_agents(world, 2);
    auto reader = world.ask_client(world.reader);
    auto shim = world.ask_client(world.shim);
    if (answer(reader, "status")["mode_reason"] != "") {
      MESSAGE("skipped: built without libtorch, nothing learns");
      return;
    }
    for (int i = 0; i < 8; ++i) place_one(agents, shim, "pod-" + std::to_string(i));
    REQUIRE(run_until(world, agents, [&] {
      const json status = answer(reader, "status");
      return status["gradient_steps"].get<std::uint64_t>() >= 4 && status["placements"] == 8;
    }));
    const json status = answer(reader, "status");
    steps = status["gradient_steps"].get<std::uint64_t>();
    replay = status["replay"].get<std::uint64_t>();
  }
  world.controller.reset();
  world.start();
  auto agents = connect_agents(world, 2);
  auto reader = world.ask_client(world.reader);
  const json status = answer(reader, "status");
  CHECK(status["gradient_steps"].get<std::uint64_t>() >= steps);
  CHECK(status["replay"].get<std::uint64_t>() >= replay);
  auto shim = world.ask_client(world.shim);
  place_one(agents, shim, "after");
  CHECK(answer(reader, "decisions")["decisions"][0]["id"] == 9);
}

TEST_CASE("malformed messages on each socket are refused and the loop continues") {
  World world(1);
  world.start();
  auto agents = connect_agents(world, 1);
  for (const std::string& endpoint : {world.controller->endpoints().ask, world.controller->endpoints().telemetry}) {
    auto client = transport::Client::connect(world.context, world.to(endpoint, world.shim));
    REQUIRE(client);
    std::optional<std::string> bytes;
    bool sent = false;
    REQUIRE(run_until(world, agents, [&] {
      if (!sent) sent = client->send("\xc1 nonsense").has_value();
      bytes = client->receive();
      return bytes.has_value();
    }));
    const auto message = wire::decode(*bytes);
    REQUIRE(message);
    CHECK(std::holds_alternative<wire::Refusal>(*message));
  }
  auto feed = transport::Client::connect(world.context, world.to(world.controller->endpoints().feed, world.shim));
  REQUIRE(feed);
  for (int i = 0; i < 10; ++i) (void)feed->send("\xc1 nonsense");
  auto reader = world.ask_client(world.reader);
  const auto before = answer(reader, "status")["samples"].get<std::uint64_t>();
  CHECK(run_until(world, agents, [&] { return answer(reader, "status")["samples"].get<std::uint64_t>() > before; }));
}

TEST_CASE("roles limit which peers may ask, query and confirm") {
  World world(1);
  world.start();
  auto agents = connect_agents(world, 1);
  auto reader = world.ask_client(world.reader);
  auto shim = world.ask_client(world.shim);
  auto boss = world.ask_client(world.operator_key);
  auto agent = world.ask_client(world.agents[0]);
  CHECK(reader.ask(ask_for("p", {"n0"}), wattle::tests::soon()).error().code == Errc::denied);
  CHECK(!shim.query("nodes", {}, wattle::tests::soon()));
  CHECK(!agent.query("nodes", {}, wattle::tests::soon()));
  CHECK(!reader.query("confirm", {{"pod", "p"}, {"node", "n0"}}, wattle::tests::soon()));
  REQUIRE(boss.ask(ask_for("p", {"n0"}), wattle::tests::soon()));
  CHECK(answer(boss, "confirm", {{"pod", "p-name"}, {"node", "n0"}})["confirmed"] == true);
  CHECK(answer(reader, "decisions")["decisions"][0]["placed_on"] == "n0");
  CHECK(boss.query("confirm", {{"pod", "p"}, {"node", "nope"}}, wattle::tests::soon()).error().message().find("nope") !=
        std::string::npos);
}

TEST_CASE("the later incarnation of two agents with the same key wins") {
  World world(1);
  world.start();
  auto agents = connect_agents(world, 1);
  agents.push_back(std::make_unique<ScriptedAgent>(world, 0, 2));
  REQUIRE(run_until(world, agents, [&] { return agents[1]->status().acked_seq > 2 && !agents[0]->status().welcomed; }));
  CHECK(agents[0]->status().problem.starts_with("rejected by the controller: "));
  auto reader = world.ask_client(world.reader);
  CHECK(answer(reader, "node", {{"name", "n0"}})["node"]["incarnation"] == 2);
}

TEST_CASE("subscribers get boards, states and decisions") {
  World world(2);
  world.start();
  const std::vector<std::string> topics = {std::string(transport::kTopicBoard), std::string(transport::kTopicState),
                                           std::string(transport::kTopicDecision)};
  auto feed =
      transport::Subscriber::connect(world.context, world.to(world.controller->endpoints().feed, world.shim), topics);
  REQUIRE(feed);
  auto agents = connect_agents(world, 2);
  auto shim = world.ask_client(world.shim);
  std::optional<wire::Board> board;
  std::optional<wire::StateChange> state;
  std::optional<wire::Decision> decision;
  int asked = 0;
  CHECK(run_until(world, agents, [&] {
    if (board && !board->classes.empty() && asked == 0) {
      place_one(agents, shim, "p" + std::to_string(asked));
      ++asked;
    }
    while (const auto published = feed->receive()) {
      const auto message = wire::decode(published->bytes);
      REQUIRE(message);
      if (const auto* b = std::get_if<wire::Board>(&*message)) board = *b;
      if (const auto* s = std::get_if<wire::StateChange>(&*message)) state = *s;
      if (const auto* d = std::get_if<wire::Decision>(&*message)) decision = *d;
    }
    return board && state && decision && !board->classes.empty();
  }));
  CHECK(!board->neutral);
  // The snapshot is built one class at a time, and complete only at the end.
  REQUIRE(board->classes.size() == placement::kBoardClassCores.size());
  for (std::size_t i = 0; i < board->classes.size(); ++i)
    CHECK(board->classes[i].cpu_request_cores == placement::kBoardClassCores[i]);
  CHECK(state->state.power_w > 0);
  CHECK(decision->pod_uid == "p0");
}

TEST_CASE("the snapshot query returns the position at which the feed begins") {
  World world(2);
  world.start();
  auto agents = connect_agents(world, 2);
  auto client = transport::Client::connect(world.context, world.to(world.controller->endpoints().ask, world.shim));
  REQUIRE(client);
  std::optional<std::string> bytes;
  bool sent = false;
  REQUIRE(run_until(world, agents, [&] {
    if (!sent) sent = client->send(wire::encode(wire::Query{1, "snapshot", {}})).has_value();
    bytes = client->receive();
    return bytes.has_value();
  }));
  const auto message = wire::decode(*bytes);
  REQUIRE(message);
  const auto* snapshot = std::get_if<wire::Snapshot>(&*message);
  REQUIRE(snapshot != nullptr);
  CHECK(snapshot->states.size() == 2);
  CHECK(!snapshot->board.classes.empty());
}

TEST_CASE("a key that is added to the allow list is accepted without a restart") {
  World world(1);
  world.start();
  const KeyPair late = KeyPair::generate();
  auto list = transport::AllowList::load(world.config.allow_file);
  REQUIRE(list);
  list->allow(late.public_key, {Role::reader, "late"});
  REQUIRE(write_file_atomically(world.config.allow_file, list->text()));
  Agents none;
  bool answered = false;
  CHECK(run_until(world, none, [&] {
    auto client = world.ask_client(late);
    answered = client.query("status", {}, wattle::tests::soon()).has_value();
    return answered;
  }));
}
