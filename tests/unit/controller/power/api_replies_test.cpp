// evictions and lifecycle_conditions: the API server's replies, and the conditions of each state.
#include <doctest/doctest.h>

#include "controller/power/evictions.hpp"
#include "controller/power/lifecycle_conditions.hpp"
#include "tests/unit/controller/power/node_merge.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
namespace core = placement::sleep;

const core::Move kPod{"uid-1", "shop/web-1", "Deployment/web", "n2", {}};

Result<EvictionReply> replied(int status, const std::string& body) {
  return parse_eviction_reply(kPod, {status, body});
}

TEST_CASE("an eviction is refused only by a budget, whose message is kept") {
  const auto refused = replied(429, R"({"message": "Cannot evict pod", "details": {"causes": [
    {"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods and has 3 currently"}]}})");
  REQUIRE(refused);
  CHECK(refused->evicted == Evicted::refused);
  CHECK(refused->text.find("needs 3 healthy pods") != std::string::npos);
  const auto busy = replied(429, R"({"message": "too many requests"})");
  REQUIRE(!busy);
  CHECK(busy.error().code == Errc::unavailable);
}

TEST_CASE("a pod that does not exist is gone, and a conflict is an error") {
  CHECK(replied(404, "{}")->evicted == Evicted::gone);
  const auto changed = replied(409, R"({"message": "the object has been modified"})");
  REQUIRE(!changed);
  CHECK(changed.error().code == Errc::conflict);
}

TEST_CASE("a denied eviction names the right and the setting that grants it") {
  const auto denied = replied(403, R"({"message": "pods/eviction is forbidden"})");
  REQUIRE(!denied);
  CHECK(denied.error().code == Errc::denied);
  CHECK(denied.error().fix.find("sleep.mode") != std::string::npos);
  CHECK(denied.error().fix.find("create pods/eviction") != std::string::npos);
}

TEST_CASE("several budgets of one pod are an error that names the fix") {
  const auto several = replied(
      500,
      R"({"message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."})");
  REQUIRE(!several);
  CHECK(several.error().code == Errc::unsupported);
}

TEST_CASE("an eviction names the pod's UID, and a pod without a namespace is refused") {
  const json body = json::parse(eviction_body(kPod, *parse_pod_name(kPod)));
  CHECK(body["deleteOptions"]["preconditions"]["uid"] == "uid-1");
  CHECK(body["metadata"]["namespace"] == "shop");
  for (const char* name : {"web-1", "/web-1", "shop/", ""}) {
    core::Move pod = kPod;
    pod.name = name;
    CHECK(!parse_pod_name(pod));
  }
}

TEST_CASE("lifecycle conditions need Kubernetes 1.37") {
  CHECK(!*parse_has_conditions(R"({"major": "1", "minor": "36"})"));
  CHECK(*parse_has_conditions(R"({"major": "1", "minor": "37+"})"));
  CHECK(*parse_has_conditions(R"({"major": "2", "minor": "0"})"));
  for (const char* text : {"{}", "x", R"({"major": "1", "minor": "+"})", R"({"major": 1, "minor": 37})"})
    CHECK(!parse_has_conditions(text));
}

std::string status_of(const json& node, const std::string& type) {
  for (const json& each : node["status"]["conditions"])
    if (each["type"] == type) return each["status"].string();
  return "";
}

TEST_CASE("conditions follow the record, and are removed with the marks") {
  core::NodePowerRecord record;
  record.marked = true;
  record.operation = 3;
  json node = json::parse(R"({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
  const json before = node;
  const auto follow = [&](core::PowerState state) {
    record.state = state;
    const auto patch = patch_conditions(node, record, WallTime{});
    REQUIRE(patch);
    test::merge_strategic(node, *patch);
    CHECK(!patch_conditions(node, record, WallTime{}));
    return status_of(node, "DrainInProgress") + status_of(node, "Drained") + status_of(node, "MaintenanceInProgress");
  };
  CHECK(follow(core::PowerState::draining) == "TrueFalseFalse");
  CHECK(follow(core::PowerState::suspending) == "FalseTrueTrue");
  record.marked = false;
  CHECK(follow(core::PowerState::awake) == "");
  CHECK(node == before);
}

TEST_CASE("a condition that another writer has set stays") {
  core::NodePowerRecord record;
  record.marked = true;
  record.state = core::PowerState::asleep;
  json node = json::parse(R"({"status": {"conditions": [
    {"type": "MaintenanceInProgress", "status": "True", "reason": "Disks"}]}})");
  test::merge_strategic(node, *patch_conditions(node, record, WallTime{}));
  record.marked = false;
  test::merge_strategic(node, *patch_conditions(node, record, WallTime{}));
  CHECK(node["status"]["conditions"].size() == 1);
  CHECK(node["status"]["conditions"][0]["reason"] == "Disks");
}

}  // namespace
}  // namespace wattle::controller::power
