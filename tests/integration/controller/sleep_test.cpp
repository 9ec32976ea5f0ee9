// sleep: a whole controller beside an API server plans which nodes could sleep, and obeys labels and disruption budgets.
#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "tests/integration/controller/fake_api.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

struct Sleeping {
  World world{3};
  FakeApi api{world.log};
  std::vector<std::unique_ptr<ScriptedAgent>> agents;

  Sleeping() {
    for (const char* name : {"n0", "n1", "n2"}) put_node(name, "recommend");
    world.config.mode = Mode::shadow;
    world.config.learn.enabled = false;
    world.config.policy = "model-greedy";
    world.config.kube.server = api.url();
    world.config.sleep.mode = placement::sleep::SleepMode::recommend;
    world.start();
    for (std::size_t i = 0; i < 3; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i, 1));
  }
  void put_node(const std::string& name, const std::string& label) {
    api.put("/api/v1/nodes", name,
            {{"metadata", {{"name", name}, {"uid", name + "-uid"}, {"labels", {{"wattle.dev/sleep", label}}}}},
             {"status",
              {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "30"}}},
               {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
  }
  void put_pod(const std::string& uid, const std::string& node) {
    api.put("/api/v1/pods", uid,
            {{"metadata",
              {{"name", uid},
               {"namespace", "shop"},
               {"uid", uid},
               {"labels", {{"app", "web"}}},
               {"ownerReferences", {{{"kind", "ReplicaSet"}, {"name", "web"}, {"controller", true}}}}}},
             {"spec", {{"nodeName", node}, {"containers", {{{"resources", {{"requests", {{"cpu", "1"}}}}}}}}}},
             {"status", json::object()}});
  }
  json plan() const {
    http::Client client("127.0.0.1", world.controller->endpoints().http_port);
    const auto answer = client.request("GET", "/api/v1/sleep", "", wattle::tests::soon());
    return answer && answer->status == 200 ? json::parse(answer->body) : json();
  }
  std::string cause(const std::string& node) const {
    const json made = plan();
    if (made.is_object())
      for (const json& each : made["awake"])
        if (each["name"] == node) return each["cause"].get<std::string>();
    return "";
  }
  bool until(const std::function<bool()>& done) { return run_until(world, agents, done); }
};

}  // namespace

TEST_CASE_FIXTURE(Sleeping, "empty nodes could sleep, unless a label or a disruption budget keeps them on") {
  REQUIRE(until([&] {
    const json made = plan();
    return made.is_object() && !made["sleep"].empty();
  }));
  CHECK(plan()["budgets_problem"].is_null());
  api.put("/apis/policy/v1/poddisruptionbudgets", "web",
          {{"metadata", {{"name", "web"}, {"namespace", "shop"}}},
           {"spec", {{"selector", {{"matchLabels", {{"app", "web"}}}}}}},
           {"status", {{"disruptionsAllowed", 0}}}});
  put_pod("p1", "n1");
  put_node("n2", "off");
  REQUIRE(until([&] { return cause("n2") == "mode_off" && cause("n1") == "budget"; }));
}
