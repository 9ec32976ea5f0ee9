// After a restart without an API server, the controller reports running pods and confirmed workloads from the store.
#include <doctest/doctest.h>

#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

json pod_of(transport::AskClient& reader, const std::string& uid) {
  const json document = answer(reader, "pods");
  for (const json& pod : document["pods"])
    if (pod["uid"] == uid) return pod;
  return {};
}

double requested(transport::AskClient& reader, const std::string& node) {
  return answer(reader, "node", {{"name", node}})["node"]["cpu_requested_cores"].get<double>();
}

// Additional content of each record: a service that uses half a core.
void run_service(ScriptedAgent& agent, const std::string& unit) {
  agent.with([unit](Record& record) {
    WorkloadValues values = pod_values(unit, 10'000);
    values.kind = WorkloadKind::service;
    record.workloads.push_back(std::move(values));
  });
}

}  // namespace

TEST_CASE("after a restart without an API server running pods have name, namespace, decision and requests again") {
  World world(2);
  world.config.store.path = world.dir / "store.db";
  world.config.learn.enabled = false;
  world.start();
  json before;
  {
    Agents agents = connect_agents(world, 2);
    auto shim = world.ask_client(world.shim);
    auto reader = world.ask_client(world.reader);
    REQUIRE(shim.ask(ask_for("p", {"n0", "n1"}), wattle::tests::soon()));
    agents[0]->place("p");
    REQUIRE(run_until(world, agents, [&] { return !(before = pod_of(reader, "p")).is_null(); }));
    CHECK(before["name"] == "p-name");
    CHECK(requested(reader, "n0") == 1);
    REQUIRE(run_until(world, agents, [&] {
      return !answer(reader, "explain", {{"pod", "p"}})["decision"]["outcome"].is_null();
    }));
  }
  for (std::uint64_t life = 2; life < 4; ++life) {
    world.controller.reset();
    world.start();
    Agents agents;
    for (std::size_t i = 0; i < 2; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i, life));
    agents[0]->place("p");
    auto reader = world.ask_client(world.reader);
    json after;
    REQUIRE(run_until(world, agents, [&] { return !(after = pod_of(reader, "p")).is_null(); }));
    for (const char* key : {"name", "namespace", "decision_id", "node"}) CHECK(after[key] == before[key]);
    CHECK(requested(reader, "n0") == 1);
    CHECK(answer(reader, "report", {{"by", "owner"}})["rows"][0]["key"] == "ReplicaSet/web");
  }
}

TEST_CASE("a confirmed workload has requests until its unit ends, across a restart, and answers follow the write") {
  World world(1);
  world.config.store.path = world.dir / "store.db";
  world.config.learn.enabled = false;
  world.start();
  {
    Agents agents = connect_agents(world, 1);
    auto boss = world.ask_client(world.operator_key);
    for (const std::string uid : {"tied", "untied"}) {
      wire::Ask ask = ask_for(uid, {"n0"});
      ask.pod_name = uid;
      REQUIRE(boss.ask(std::move(ask), wattle::tests::soon()));
    }
    run_service(*agents[0], "tied.service");
    REQUIRE(run_until(world, agents, [&] { return !pod_of(boss, "tied").is_null(); }));
    const json reported = answer(boss, "confirm", {{"pod", "tied"}, {"node", "n0"}});
    CHECK(reported == json{{"confirmed", true},
                           {"uid", "tied"},
                           {"node", "n0"},
                           {"unit", "tied.service"},
                           {"limit_s", nullptr},
                           {"ended", false}});
    CHECK(answer(boss, "confirm", {{"pod", "untied"}, {"node", "n0"}, {"limit_s", "3600"}})["unit"].is_null());
    CHECK(requested(boss, "n0") == 2);
    for (const auto& [key, value] : Pairs{{"limit_s", "-1"}, {"limit_s", "soon"}, {"unit", "/"}}) {
      const auto wrong = query(boss, "confirm", {{"pod", "tied"}, {"node", "n0"}, {key, value}});
      REQUIRE_FALSE(wrong);
      CHECK(wrong.error().message().find(key) != std::string::npos);
    }
  }
  world.controller.reset();
  world.start();
  Agents agents;
  agents.push_back(std::make_unique<ScriptedAgent>(world, 0, 2));
  run_service(*agents[0], "tied.service");
  auto boss = world.ask_client(world.operator_key);
  REQUIRE(run_until(world, agents, [&] { return !pod_of(boss, "tied").is_null(); }));
  CHECK(pod_of(boss, "tied")["unit"] == "tied.service");
  CHECK(pod_of(boss, "tied")["name"] == "tied");
  CHECK(requested(boss, "n0") == 2);
  CHECK(answer(boss, "done", {{"pod", "untied"}}) ==
        json{{"done", true}, {"uid", "untied"}, {"node", "n0"}, {"ended", false}});
  CHECK(requested(boss, "n0") == 1);
  agents[0]->with([](Record& record) {
    WorkloadValues values = pod_values("tied.service", 10'000);
    values.kind = WorkloadKind::service;
    values.ended = true;
    record.workloads.push_back(std::move(values));
  });
  REQUIRE(run_until(world, agents, [&] { return requested(boss, "n0") == 0; }));
  CHECK(answer(boss, "done", {{"pod", "tied"}})["ended"] == true);
}
