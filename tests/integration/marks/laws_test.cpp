// The laws of NodeMarks on an API server: marks are exactly reversible, evictions respect budgets, and Events come once
// per transition.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "common/kube/pod.hpp"
#include "controller/power/kube_marks.hpp"
#include "controller/power/lifecycle_conditions.hpp"
#include "controller/power/mark_patch.hpp"
#include "tests/integration/marks/place.hpp"
#include "tests/patience.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
namespace core = placement::sleep;

const std::chrono::milliseconds kWithin = tests::soon();
const std::string kDefault = "/api/v1/namespaces/default/";
const std::string kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

core::NodePowerRecord record_of(core::PowerState state, std::uint64_t operation, bool marked = true) {
  core::NodePowerRecord record;
  record.state = state;
  record.operation = operation;
  record.marked = marked;
  record.since = wall_from_ns(1'764'370'203'000'000'000);
  return record;
}

struct World {
  std::unique_ptr<test::Place> place = test::make_place();
  kube::HttpApi admin{place->admin(), kWithin, kWithin};
  SystemClock clock;
  Log log = Log::silent();
  KubeMarks marks{place->wattle(), "test", clock, log};

  json call(const std::string& method, const std::string& path, const json& body) {
    auto reply = method == "POST"    ? admin.post(path, body.dump())
                 : method == "PATCH" ? admin.patch(path, body.dump())
                 : method == "GET"   ? admin.get(path)
                                     : admin.remove(path);
    REQUIRE_MESSAGE(reply, (reply ? "" : reply.error().message()));
    INFO(method << " " << path << ": " << reply->body);
    REQUIRE(reply->status < 300);
    return json::parse(reply->body);
  }
  json node(const std::string& name) { return call("GET", "/api/v1/nodes/" + name, {}); }
  json patch_node(const std::string& name, const json& patch) { return call("PATCH", "/api/v1/nodes/" + name, patch); }
  // Creates a node with marks of other clients. kube-apiserver taints new nodes; that taint is kept.
  void add_node(const std::string& name, bool cordoned, bool labelled) {
    REQUIRE(admin.remove("/api/v1/nodes/" + name));  // 404 the first time
    json made{{"apiVersion", "v1"}, {"kind", "Node"}};
    made["metadata"]["name"] = name;
    made["metadata"]["labels"] = json::object({{"zone", "z1"}});
    if (labelled) made["metadata"]["labels"][kExcludeLabel] = "operator";
    made["metadata"]["annotations"] = json::object({{"owner", "ops"}});
    made["spec"]["taints"].push_back(json{{"key", "gpu"}, {"value", "a100"}, {"effect", "NoSchedule"}});
    if (cordoned) made["spec"]["unschedulable"] = true;
    call("POST", "/api/v1/nodes", made);
  }
};

// The parts of a Node that users may change.
json content(const json& node) {
  json out = json::object();
  out["labels"] = node["metadata"]["labels"];
  out["annotations"] = node["metadata"]["annotations"];
  out["spec"] = node["spec"];
  return out;
}

bool tainted(const json& node) {
  for (const json& taint : node["spec"]["taints"])
    if (taint["key"] == std::string(kSleepTaint)) return true;
  return false;
}

void check_marked(const json& node) {
  CHECK(node["spec"]["unschedulable"] == true);
  CHECK(tainted(node));
  CHECK(node["metadata"]["labels"].contains(kExcludeLabel));
}

TEST_CASE("removing the marks restores a node with taints, labels or a cordon of other clients") {
  World world;
  for (const bool cordoned : {false, true})
    for (const bool labelled : {false, true}) {
      CAPTURE(cordoned);
      CAPTURE(labelled);
      world.add_node("n1", cordoned, labelled);
      const json before = world.node("n1");
      REQUIRE(world.marks.mark("n1", record_of(core::PowerState::idle, 1)));
      check_marked(world.node("n1"));
      REQUIRE(world.marks.annotate("n1", record_of(core::PowerState::asleep, 1)));
      CHECK(world.node("n1")["metadata"]["annotations"][kStateAnnotation] == "asleep");
      REQUIRE(world.marks.unmark("n1", record_of(core::PowerState::awake, 2)));
      CHECK(content(world.node("n1")) == content(before));
      CHECK(world.node("n1")["metadata"]["uid"] == before["metadata"]["uid"]);
    }
}

TEST_CASE("a repeated call changes nothing") {
  World world;
  world.add_node("n1", false, false);
  const auto record = record_of(core::PowerState::draining, 5);
  const auto version = [&] { return world.node("n1")["metadata"]["resourceVersion"]; };
  const auto twice = [&](const std::function<Status()>& call) {
    REQUIRE(call());
    const json once = version();
    REQUIRE(call());
    CHECK(version() == once);
  };
  twice([&] { return world.marks.mark("n1", record); });
  twice([&] { return world.marks.annotate("n1", record); });
  twice([&] { return world.marks.unmark("n1", record_of(core::PowerState::awake, 6)); });
}

TEST_CASE("changes that another client makes at the same time survive") {
  World world;
  world.add_node("n1", false, false);
  constexpr int kEdits = 30;
  std::atomic<bool> done{false};
  std::thread other([&] {
    kube::HttpApi api{world.place->admin(), kWithin, kWithin};
    for (int i = 0; i < kEdits;) {
      // Changes taints as kubectl does.
      json node = json::parse(api.get("/api/v1/nodes/n1")->body);
      json patch = json::object();
      patch["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"];
      patch["metadata"]["labels"]["edit-" + std::to_string(i)] = "kept";
      node["spec"]["taints"].push_back(json{{"key", "edit-" + std::to_string(i)}, {"effect", "NoExecute"}});
      patch["spec"]["taints"] = node["spec"]["taints"];
      if (api.patch("/api/v1/nodes/n1", patch.dump())->status == 200) ++i;
      tests::pace(std::chrono::milliseconds(2));
    }
    done = true;
  });
  // A call whose attempts all conflict reports the conflict; the caller repeats it.
  const auto at_last = [](const std::function<Status()>& call) {
    for (;;) {
      const Status status = call();
      if (status || status.error().code != Errc::conflict) return status;
    }
  };
  Status failed;
  do {
    failed = at_last([&] { return world.marks.mark("n1", record_of(core::PowerState::idle, 1)); });
    if (failed) failed = at_last([&] { return world.marks.unmark("n1", record_of(core::PowerState::awake, 1)); });
  } while (failed && !done);
  other.join();
  REQUIRE_MESSAGE(failed, (failed ? "" : failed.error().message()));
  const json left = world.node("n1");
  CHECK(left["spec"]["taints"].size() == kEdits + 1);
  for (int i = 0; i < kEdits; ++i) CHECK(left["metadata"]["labels"]["edit-" + std::to_string(i)] == "kept");
  CHECK(!left["spec"].contains("unschedulable"));
}

TEST_CASE("a node that does not exist is an error, and is not created") {
  World world;
  const Status marked = world.marks.mark("missing", record_of(core::PowerState::idle, 1));
  REQUIRE(!marked);
  CHECK(marked.error().code == Errc::not_found);
  CHECK(marked.error().subject == "node missing");
  CHECK(world.admin.get("/api/v1/nodes/missing")->status == 404);
}

TEST_CASE("a client without rights gets an error that names the right and the fix") {
  World world;
  world.add_node("n1", false, false);
  KubeMarks marks{world.place->stranger(), "test", world.clock, world.log};
  const auto refused = [](const Error& error) {
    CHECK(error.code == Errc::denied);
    CHECK(error.fix.find("sleep.mode") != std::string::npos);
  };
  refused(marks.mark("n1", record_of(core::PowerState::idle, 1)).error());
  refused(marks.annotate("n1", record_of(core::PowerState::idle, 1)).error());
  refused(marks.event("n1", {"Slept", "sleeps", false}).error());
  refused(marks.evict({"uid", "default/p1", "", "n2", {}}).error());
  CHECK(!tainted(world.node("n1")));
}

// A running and ready pod, which a budget counts.
std::string add_running_pod(World& world, const std::string& name, int grace_s = 0) {
  REQUIRE(world.admin.remove(kDefault + "pods/" + name));
  json pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
  pod["metadata"]["name"] = name;
  pod["metadata"]["labels"]["app"] = "web";
  pod["spec"]["nodeName"] = "n1";
  pod["spec"]["terminationGracePeriodSeconds"] = grace_s;
  pod["spec"]["automountServiceAccountToken"] = false;
  pod["spec"]["containers"].push_back(json{{"name", "main"}, {"image", "pause"}});
  const json made = world.call("POST", kDefault + "pods", pod);
  json running = json::object();
  running["status"]["phase"] = "Running";
  running["status"]["conditions"].push_back(json{{"type", "Ready"}, {"status", "True"}});
  world.call("PATCH", kDefault + "pods/" + name + "/status", running);
  return made["metadata"]["uid"].string();
}

// No disruption controller runs here, so the test writes the budget's status.
void set_budget(World& world, int allowed) {
  if (world.admin.get(kBudgets + "/web")->status == 404) {
    json budget{{"apiVersion", "policy/v1"}, {"kind", "PodDisruptionBudget"}};
    budget["metadata"]["name"] = "web";
    budget["spec"]["minAvailable"] = 1;
    budget["spec"]["selector"]["matchLabels"]["app"] = "web";
    world.call("POST", kBudgets, budget);
  }
  json status = json::object();
  status["status"] = json{{"observedGeneration", 1},
                          {"disruptionsAllowed", allowed},
                          {"currentHealthy", 1 + allowed},
                          {"desiredHealthy", 1},
                          {"expectedPods", 1 + allowed}};
  world.call("PATCH", kBudgets + "/web/status", status);
}

TEST_CASE("an eviction respects budgets, and reaches the pod with that UID only") {
  World world;
  world.add_node("n1", false, false);
  const std::string uid = add_running_pod(world, "web-1");
  const core::Move pod{uid, "default/web-1", "Deployment/web", "n2", {}};
  set_budget(world, 0);
  CHECK(world.marks.evict(pod).value() == Evicted::refused);
  CHECK(world.admin.get(kDefault + "pods/web-1")->status == 200);
  set_budget(world, 1);
  core::Move other = pod;
  other.pod = "00000000-0000-0000-0000-000000000000";
  CHECK(world.marks.evict(other).value() == Evicted::gone);
  CHECK(world.admin.get(kDefault + "pods/web-1")->status == 200);
  set_budget(world, 1);
  CHECK(world.marks.evict(pod).value() == Evicted::accepted);
  CHECK(world.admin.get(kDefault + "pods/web-1")->status == 404);
  CHECK(world.marks.evict(pod).value() == Evicted::gone);
}

TEST_CASE("a pod that is being evicted shows it until it ends, a deleted one does not") {
  World world;
  world.add_node("n1", false, false);
  const std::string uid = add_running_pod(world, "web-slow", 600);
  const std::string deleted = add_running_pod(world, "web-deleted", 600);
  set_budget(world, 1);
  CHECK_FALSE(kube::read_pod(world.call("GET", kDefault + "pods/web-slow", {})).evicted);
  CHECK(world.marks.evict({uid, "default/web-slow", "Deployment/web", "n2", {}}).value() == Evicted::accepted);
  CHECK(kube::read_pod(world.call("GET", kDefault + "pods/web-slow", {})).evicted);
  world.call("DELETE", kDefault + "pods/web-deleted", {});
  const auto gone = world.admin.get(kDefault + "pods/web-deleted");
  if (gone->status == 200) CHECK_FALSE(kube::read_pod(json::parse(gone->body)).evicted);
}

std::vector<json> events_about(World& world, const std::string& name) {
  std::vector<json> out;
  const json listed = world.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events", {});
  for (const json& each : listed["items"])
    if (each["regarding"]["name"] == name) out.push_back(each);
  return out;
}

TEST_CASE("Events come once per transition, and name the node") {
  World world;
  const std::string node = "n-" + std::to_string(to_ns(world.clock.wall()));
  for (int i = 0; i < 3; ++i) REQUIRE(world.marks.event(node, {"SleepOrdered", "operation 1: idle", false}));
  REQUIRE(world.marks.event(node, {"WakeFailed", "does not wake", true}));
  REQUIRE(world.marks.event(node, {"SleepOrdered", "operation 1: idle", false}));
  const auto found = events_about(world, node);
  REQUIRE(found.size() == 3);
  for (const json& each : found) {
    CHECK(each["regarding"]["kind"] == "Node");
    CHECK(each["type"] == (each["reason"] == "WakeFailed" ? "Warning" : "Normal"));
  }
}

TEST_CASE("an Event about an evicted pod names where its replacement is expected") {
  World world;
  world.add_node("n1", false, false);
  const std::string name = "web-" + std::to_string(to_ns(world.clock.wall()));
  set_budget(world, 1);
  REQUIRE(world.marks.evict({add_running_pod(world, name), "default/" + name, "", "n2", {}}).value() ==
          Evicted::accepted);
  const auto found = events_about(world, name);
  REQUIRE(found.size() == 1);
  CHECK(found[0]["reason"] == "EvictedByWattle");
  CHECK(found[0]["note"].string().find("n2") != std::string::npos);
}

std::size_t own_conditions(const json& node) {
  std::size_t count = 0;
  for (const json& each : node["status"]["conditions"]) count += each["reason"] == std::string(kSleepReason) ? 1 : 0;
  return count;
}

TEST_CASE("lifecycle conditions are written only if the server's version supports them") {
  World world;
  world.add_node("n1", false, false);
  const bool known = *parse_has_conditions(world.admin.get("/version")->body);
  REQUIRE(world.marks.mark("n1", record_of(core::PowerState::draining, 1)));
  CHECK(own_conditions(world.node("n1")) == (known ? 3 : 0));
  REQUIRE(world.marks.unmark("n1", record_of(core::PowerState::awake, 1)));
  CHECK(own_conditions(world.node("n1")) == 0);
}

TEST_CASE("the server accepts the patches of lifecycle conditions") {
  World world;
  world.add_node("n1", false, false);
  const auto patch = [&](const core::NodePowerRecord& record) {
    const auto made = patch_conditions(world.node("n1"), record, world.clock.wall());
    REQUIRE(made);
    return own_conditions(world.call("PATCH", "/api/v1/nodes/n1/status", *made));
  };
  CHECK(patch(record_of(core::PowerState::suspending, 1)) == 3);
  CHECK(patch(record_of(core::PowerState::awake, 1, false)) == 0);
}

}  // namespace
}  // namespace wattle::controller::power
