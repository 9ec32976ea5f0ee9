// watch: a controller beside an API server joins bound pods, names them, requests and learns from them, across failures
// of
// either.
#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "tests/integration/controller/fake_api.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

struct Watched {
  World world{2};
  FakeApi api{world.log};
  std::vector<std::unique_ptr<ScriptedAgent>> agents;

  Watched() {
    api.put_node("n0", "3500m");
    api.put_node("n1", "3500m");
    world.config.mode = Mode::shadow;
    world.config.learn.enabled = false;
    world.config.policy = "model-greedy";
    world.config.kube.server = api.url();
  }
  void start(std::uint64_t incarnation = 1) {
    agents.clear();
    world.controller.reset();
    world.start();
    for (std::size_t i = 0; i < 2; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i, incarnation));
  }
  json get(const std::string& what) const {
    http::Client client("127.0.0.1", world.controller->endpoints().http_port);
    const auto answer = client.request("GET", "/api/v1/" + what, "", wattle::tests::soon());
    return answer && answer->status == 200 ? json::parse(answer->body) : json();
  }
  json node(const std::string& name) const { return get("node?name=" + name)["node"]; }
  double requested(const std::string& name) const {
    const json found = node(name);
    return found.is_object() ? found["cpu_requested_cores"].get<double>() : -1;
  }
  bool until(const std::function<bool()>& done) { return run_until(world, agents, done); }
};

}  // namespace

TEST_CASE_FIXTURE(Watched,
                  "nodes follow the API server, pods have names, and a pod that no shim asked for is explained") {
  start();
  // A node without any report is no candidate, and a decision without candidates has no features.
  REQUIRE(until([&] {
    return node("n0").is_object() && !node("n0")["kubernetes"].is_null() && node("n0")["age_ms"].is_number();
  }));
  CHECK(node("n0")["kubernetes"]["allocatable_cores"] == 3.5);
  CHECK(node("n0")["labels"]["zone"] == "z1");
  api.put_pod("p1", "");
  api.put_pod("p1", "n0");
  REQUIRE(until([&] { return requested("n0") == 1; }));
  agents[0]->place("p1");
  REQUIRE(until([&] {
    const json pods = get("pods")["pods"];
    return pods.size() == 1 && pods[0]["name"] == "p1-name" && pods[0]["namespace"] == "shop";
  }));
  REQUIRE(until([&] { return get("explain?pod=shop/p1-name")["decision"]["outcome"].is_object(); }));
  const json decision = get("explain?pod=p1-name")["decision"];
  CHECK(decision["mode"] == "observed");
  CHECK(decision["placed_on"] == "n0");
  CHECK(decision["features"].is_object());
  api.put_node("n1", "3500m", true);
  REQUIRE(until([&] { return node("n1")["kubernetes"]["schedulable"] == false; }));
  api.erase_pod("p1");
  REQUIRE(until([&] { return requested("n0") == 0; }));
}

TEST_CASE_FIXTURE(Watched,
                  "shadow advice accounts for pods that are bound elsewhere, and reports when a saving is known") {
  start();
  REQUIRE(until([&] { return node("n0")["age_ms"].is_number() && node("n1")["age_ms"].is_number(); }));
  auto shim = world.ask_client(world.shim);
  std::map<std::string, int> advised;
  std::string first;
  for (int i = 0; i < 6; ++i) {
    const std::string uid = "p" + std::to_string(i);
    api.put_pod(uid, "");
    const auto answer = shim.ask(ask_for(uid, {"n0", "n1"}), wattle::tests::soon());
    REQUIRE(answer);
    CHECK(answer->neutral);
    const std::string to = get("explain?pod=" + uid)["decision"]["advice"].get<std::string>();
    if (first.empty()) first = to;
    ++advised[to];
    // Binds pods to nodes that were not advised, as far as they have capacity.
    const std::string other = first == "n0" ? "n1" : "n0";
    api.put_pod(uid, i < 3 ? other : first);
    REQUIRE(until([&] { return requested(other) + requested(first) == i + 1; }));
  }
  CHECK(advised["n0"] == 3);  // each has 3.5 cores
  CHECK(advised["n1"] == 3);
  const json modelled = get("policy")["modelled"];
  CHECK(modelled["saving_ratio"].is_null());
  REQUIRE(until([&] { return get("status")["modelled"]["first_in_s"].get<double>() < 540; }));
}

TEST_CASE_FIXTURE(Watched, "kills from agents, and failures and waiting from the API server, are recorded") {
  start();
  REQUIRE(until([&] { return node("n0").is_object() && node("n0")["age_ms"].is_number(); }));
  const json waits = {{"phase", "Pending"},
                      {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}}}};
  api.put_pod("w1", "", "default-scheduler", waits);
  REQUIRE(until([&] { return get("status")["pods_pending"] == 1; }));
  const auto outcome = [&](const std::string& uid) {
    return get("explain?pod=" + uid + "-name")["decision"]["outcome"];
  };
  for (const char* uid : {"killed", "evicted", "well"}) {
    api.put_pod(uid, "");
    api.put_pod(uid, "n0");
  }
  REQUIRE(until([&] { return requested("n0") == 3; }));
  agents[0]->kill("killed");
  agents[0]->place("killed");
  agents[0]->place("well");
  api.put_pod("evicted", "n0", "default-scheduler", {{"phase", "Failed"}, {"reason", "Evicted"}});
  REQUIRE(until(
      [&] { return outcome("killed").is_object() && outcome("evicted").is_object() && outcome("well").is_object(); }));
  CHECK(outcome("killed")["failure"] == "oom_kill");
  CHECK(outcome("killed")["terms"]["failure"] == -1);
  CHECK(outcome("evicted")["failure"] == "evicted");
  CHECK(outcome("well")["failure"].is_null());
  api.erase_pod("w1");
  REQUIRE(until([&] { return get("status")["pods_pending"] == 0; }));
}

TEST_CASE_FIXTURE(Watched,
                  "pods of Wattle's schedulers that no shim asked for are counted, and registered shims are listed") {
  world.config.schedulers = {"wattle"};
  start();
  api.put_pod("before", "n0", "wattle");
  REQUIRE(until([&] { return requested("n0") == 1; }));
  auto shim = world.ask_client(world.shim);
  REQUIRE(shim.ask(ask_for("asked", {"n0", "n1"}), wattle::tests::soon()));
  api.put_pod("asked", "", "wattle");
  api.put_pod("asked", "n0", "wattle");
  api.put_pod("other", "n0", "another");
  api.put_pod("unasked", "", "wattle");
  api.put_pod("unasked", "n1", "wattle");
  api.put_pod("unasked", "n1", "wattle");  // a change to a bound pod is not a binding
  REQUIRE(until([&] { return requested("n0") == 3 && requested("n1") == 1; }));
  const json asks = get("status")["asks"];
  CHECK(asks["pods_bound"].get<int>() - asks["pods_unasked"].get<int>() == 1);
  CHECK(asks["pods_unasked"].get<int>() >= 1);
  CHECK(asks["pods_bound"].get<int>() <= 3);  // "before" may have been bound before the first list, or after it
  CHECK(asks["last_ask_age_ms"].is_number());
  const auto finding = [&] {
    const json doctor = get("doctor");
    for (const json& one : doctor["controller"]["findings"])
      if (one["name"] == "shims") return one;
    return json();
  };
  CHECK(finding()["state"] == "failed");  // the shim asks but has never registered
  REQUIRE(
      shim.query("shim", {{"host", "h1"}, {"asked", "1"}, {"schedulers", "wattle,another"}}, wattle::tests::soon()));
  CHECK(finding()["state"] == "ok");
  const json known = get("status")["shims"];
  REQUIRE(known.size() == 1);
  CHECK(known[0]["peer"] == "shim/shim");
  CHECK(known[0]["host"] == "h1");
  CHECK(get("status")["asks"]["schedulers"] == json{"another", "wattle"});
  CHECK_FALSE(world.ask_client(world.reader).query("shim", {}, wattle::tests::soon()));
  http::Client client("127.0.0.1", world.controller->endpoints().http_port);
  const auto page = client.request("GET", "/metrics", "", wattle::tests::soon());
  CHECK(page->body.find("wattle_controller_pods_bound_total{asked=\"yes\"} 1\n") != std::string::npos);
  CHECK(page->body.find("wattle_controller_shims{state=\"connected\"} 1\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Watched, "ready requires the first lists and an open store; alive requires that the loop runs") {
  world.config.store.path = world.dir / "store.db";
  api.close();
  start();
  http::Client client("127.0.0.1", world.controller->endpoints().http_port);
  const auto page = [&](const char* path) {
    const auto answer = client.request("GET", path, "", wattle::tests::soon());
    return answer ? std::to_string(answer->status) + " " + answer->body : std::string();
  };
  REQUIRE(until([&] { return get("status")["nodes_connected"] == 2; }));
  CHECK(page("/readyz").starts_with("503 not ready\nstore: open\nkubernetes: "));
  CHECK(page("/livez") == "200 ok\n");
  api.open();
  REQUIRE(until([&] { return page("/readyz").starts_with("200 ok\nstore: open\nkubernetes: known\n"); }));
}

TEST_CASE_FIXTURE(Watched, "a restarted controller knows the requests again and treats no earlier pod as a decision") {
  api.put_pod("p1", "n0");
  api.put_pod("p2", "n1");
  for (std::uint64_t incarnation = 1; incarnation <= 2; ++incarnation) {
    start(incarnation);
    REQUIRE(until([&] { return requested("n0") == 1 && requested("n1") == 1; }));
    CHECK(get("decisions")["decisions"].empty());
  }
}

TEST_CASE_FIXTURE(Watched, "expired versions, an API server crash and a token change lose no data") {
  const std::string token = world.dir / "token";
  REQUIRE(write_file_atomically(token, "first-token-of-it\n"));
  world.config.kube.token_file = token;
  api.let_in({"first-token-of-it"});
  start();
  api.put_pod("p1", "n0");
  REQUIRE(until([&] { return requested("n0") == 1; }));
  // The token is rotated, as kubelets do; the old one is no longer valid.
  REQUIRE(write_file_atomically(token, "second-token-of-it\n"));
  api.let_in({"second-token-of-it"});
  api.put_pod("p2", "n0");
  REQUIRE(until([&] { return requested("n0") == 2; }));
  api.close();
  REQUIRE(until([&] {
    const json findings = get("doctor")["controller"]["findings"];
    for (const json& finding : findings)
      if (finding["name"] == "kubernetes") return finding["state"] == "failed";
    return false;
  }));
  CHECK(requested("n0") == 2);  // known requests are kept
  api.put_pod("p3", "n1");
  api.erase_pod("p1");
  api.forget_past();
  const std::uint64_t lists = api.lists();
  api.open();
  REQUIRE(until([&] { return requested("n0") == 1 && requested("n1") == 1; }));
  CHECK(api.lists() > lists);
  http::Client client("127.0.0.1", world.controller->endpoints().http_port);
  REQUIRE(until([&] {
    const auto page = client.request("GET", "/metrics", "", wattle::tests::soon());
    return page && page->body.find("wattle_controller_kube_synced 1\n") != std::string::npos;
  }));
}

TEST_CASE_FIXTURE(Watched, "an API server that is never reachable does not block the controller") {
  api.close();
  world.config.mode = Mode::live;
  start();
  REQUIRE(until([&] { return get("status")["nodes_connected"] == 2 && node("n1")["age_ms"].is_number(); }));
  auto client = world.ask_client(world.shim);
  const auto answer = client.ask(ask_for("p9", {"n0", "n1"}), wattle::tests::soon());
  REQUIRE(answer);
  CHECK_FALSE(answer->neutral);
}

namespace {

// A pod that a tenant with rights in one namespace may create, with a victim's UID and node.
json forged(const std::string& victim, const std::string& node) {
  return {
      {"metadata",
       {{"name", "forged-name"},
        {"namespace", "tenant"},
        {"uid", "forged-" + victim},
        {"creationTimestamp", "2026-01-01T00:00:00Z"},
        {"annotations",
         {{"kubernetes.io/config.mirror", victim},
          {"kubernetes.io/config.hash", victim},
          {"kubernetes.io/config.source", "file"},
          {"wattle.dev/provision", "limits"}}},
        {"ownerReferences",
         {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node + "-uid"}, {"controller", true}}}}}},
      {"spec",
       {{"nodeName", node}, {"containers", {{{"image", "busybox"}, {"resources", {{"requests", {{"cpu", "1m"}}}}}}}}}},
      {"status", json::object()}};
}

}  // namespace

TEST_CASE_FIXTURE(Watched, "a pod that is annotated as another pod's mirror takes over nothing from it") {
  start();
  REQUIRE(until([&] { return node("n0").is_object() && node("n0")["age_ms"].is_number(); }));
  const auto row = [&](const std::string& uid) {
    const json pods = get("pods")["pods"];
    for (const json& pod : pods)
      if (pod["uid"] == uid) return pod;
    return json();
  };
  for (const std::string first : {"victim", "forged"}) {
    CAPTURE(first);
    const std::string victim = "victim-of-" + first;
    const auto put = [&](bool forgery) {
      if (forgery)
        api.put("/api/v1/pods", "forged-" + victim, forged(victim, "n0"));
      else
        api.put_pod(victim, "n0");
    };
    put(first == "forged");
    REQUIRE(until([&] { return requested("n0") > 0; }));
    put(first != "forged");
    agents[0]->place(victim);
    REQUIRE(until([&] { return requested("n0") > 1 && row(victim).is_object(); }));
    CHECK(requested("n0") == doctest::Approx(1.001));
    CHECK(row(victim)["name"] == victim + "-name");
    CHECK(row(victim)["namespace"] == "shop");
    // The victim keeps the limits that it asked for; the other pod's level does not apply to it.
    REQUIRE(until([&] { return agents[0]->status().pod_levels.contains("forged-" + victim); }));
    CHECK_FALSE(agents[0]->status().pod_levels.contains(victim));
    api.erase("/api/v1/pods", "forged-" + victim);
    api.erase_pod(victim);
    REQUIRE(until([&] { return requested("n0") == 0; }));
  }
}

TEST_CASE_FIXTURE(Watched, "after a restart no pod is identified by the UID of an ended pod of another namespace") {
  world.config.store.path = world.dir / "store.db";
  start();
  REQUIRE(until([&] { return node("n0").is_object() && node("n0")["age_ms"].is_number(); }));
  api.put_pod("victim", "n0");
  REQUIRE(until([&] { return requested("n0") == 1; }));
  api.erase_pod("victim");
  REQUIRE(until([&] { return requested("n0") == 0; }));
  start(2);
  REQUIRE(until([&] { return node("n0").is_object() && node("n0")["age_ms"].is_number(); }));
  api.put("/api/v1/pods", "forged-victim", forged("victim", "n0"));
  // Levels are sent by the UID that identifies a pod.
  REQUIRE(until([&] { return !agents[0]->status().pod_levels.empty(); }));
  CHECK(agents[0]->status().pod_levels.contains("forged-victim"));
  CHECK_FALSE(agents[0]->status().pod_levels.contains("victim"));
}
