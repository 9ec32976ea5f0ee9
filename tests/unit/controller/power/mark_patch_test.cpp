// mark_patch: properties of the marks on random nodes with taints, labels, annotations and cordons of other owners.
#include "controller/power/mark_patch.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/unit/controller/power/node_merge.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
namespace core = placement::sleep;
using test::merged;

core::NodePowerRecord some_record(core::PowerState state, std::uint64_t operation) {
  core::NodePowerRecord record;
  record.node = "n1";
  record.state = state;
  record.operation = operation;
  record.marked = true;
  record.since = wall_from_ns(1'764'370'203'012'345'678);
  return record;
}

json bare_node() { return json::parse(R"({"metadata": {"name": "n1", "resourceVersion": "7"}})"); }

// Taints, labels and annotations that Wattle does not own; some have similar keys.
json foreign_taints() {
  json out = json::array();
  std::vector<std::string> keys{"wattle.dev/other", "node.kubernetes.io/unschedulable", "gpu", "wattle.dev/sleep"};
  if (*rc::gen::arbitrary<bool>()) std::reverse(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    if (*rc::gen::arbitrary<bool>()) continue;
    // The key alone does not make a taint one of Wattle's or of a cordon.
    const std::string effect = key == kSleepTaint || key == kCordonTaint
                                   ? "NoExecute"
                                   : *rc::gen::element<std::string>("NoSchedule", "NoExecute");
    json taint{{"key", key}, {"effect", effect}};
    if (*rc::gen::arbitrary<bool>()) taint["value"] = *rc::gen::element<std::string>("a", "b");
    out.push_back(taint);
  }
  return out;
}

json foreign_keys(const std::vector<std::string>& keys) {
  json out = json::object();
  for (const auto& key : keys)
    if (*rc::gen::arbitrary<bool>()) out[key] = *rc::gen::element<std::string>("", "true", "x,y");
  return out;
}

json random_node() {
  json node = bare_node();
  if (json labels = foreign_keys({"zone", "wattle.dev/sleep", "node.kubernetes.io/exclude-disruption"});
      !labels.empty())
    node["metadata"]["labels"] = labels;
  if (json notes = foreign_keys({"wattle.dev/other", "owner"}); !notes.empty()) node["metadata"]["annotations"] = notes;
  if (json taints = foreign_taints(); !taints.empty()) node["spec"]["taints"] = taints;
  if (*rc::gen::arbitrary<bool>()) node["spec"]["unschedulable"] = true;
  if (*rc::gen::arbitrary<bool>()) node["spec"]["podCIDR"] = "10.0.0.0/24";
  return node;
}

core::NodePowerRecord random_record() {
  return some_record(*rc::gen::element(core::PowerState::idle, core::PowerState::draining, core::PowerState::suspending,
                                       core::PowerState::asleep, core::PowerState::waking),
                     *rc::gen::inRange<std::uint64_t>(1, 100));
}

json mark(const json& node, const core::NodePowerRecord& record) {
  const auto patch = patch_to_mark(node, record);
  RC_ASSERT(patch.has_value());
  return *patch ? merged(node, **patch) : node;
}

json unmark(const json& node) {
  const auto patch = patch_to_unmark(node);
  RC_ASSERT(patch.has_value());
  return *patch ? merged(node, **patch) : node;
}

bool has_taint(const json& node) {
  for (const json& taint : node["spec"]["taints"])
    if (taint["key"] == std::string(kSleepTaint) && taint["effect"] == "NoSchedule") return true;
  return false;
}

void holds(const char* claim, const std::function<void()>& law) { CHECK(rc::check(claim, law)); }

TEST_CASE("a marked node is cordoned, tainted and labelled, and carries the record's state and number") {
  holds("marks", [] {
    const json node = random_node();
    const auto record = random_record();
    const json marked = mark(node, record);
    RC_ASSERT(marked["spec"]["unschedulable"] == true);
    RC_ASSERT(has_taint(marked));
    RC_ASSERT(marked["metadata"]["labels"].contains(kExcludeLabel));
    RC_ASSERT(marked["metadata"]["annotations"][kStateAnnotation] == std::string(to_string(record.state)));
    RC_ASSERT(marked["metadata"]["annotations"][kOperationAnnotation] == std::to_string(record.operation));
  });
}

TEST_CASE("removing the marks restores the node, whatever others added and however often it was marked") {
  holds("round trip", [] {
    const json node = random_node();
    json marked = node;
    for (int times = *rc::gen::inRange(1, 4); times > 0; --times) {
      marked = mark(marked, random_record());
      if (*rc::gen::arbitrary<bool>()) test::merge_strategic(marked, patch_to_annotate(random_record()));
    }
    RC_ASSERT(unmark(marked) == node);
  });
}

TEST_CASE("a repeated mark or unmark changes nothing") {
  holds("idempotence", [] {
    const json node = random_node();
    const auto record = random_record();
    const auto again = patch_to_mark(mark(node, record), record);
    RC_ASSERT(again.has_value());
    RC_ASSERT(!again->has_value());
    const auto none = patch_to_unmark(node);
    RC_ASSERT(none.has_value());
    RC_ASSERT(!none->has_value());
  });
}

TEST_CASE("changes by others to a marked node are kept") {
  holds("foreign edits", [] {
    const json node = random_node();
    json marked = mark(node, random_record()), expected = node;
    const json edit = json::parse(R"({"metadata": {"labels": {"added": "later"}, "annotations": {"added": "later"}}})");
    for (json* each : {&marked, &expected}) {
      test::merge_strategic(*each, edit);
      (*each)["spec"]["taints"].push_back(json{{"key", "disk"}, {"effect", "NoExecute"}});
    }
    RC_ASSERT(unmark(mark(marked, random_record())) == expected);
  });
}

TEST_CASE("each mark patch has the node's version as its precondition") {
  holds("precondition", [] {
    const json node = random_node();
    const auto patch = patch_to_mark(node, random_record());
    RC_ASSERT((**patch)["metadata"]["resourceVersion"] == "7");
    const auto back = patch_to_unmark(merged(node, **patch));
    RC_ASSERT((**back)["metadata"]["resourceVersion"] == "7");
  });
}

TEST_CASE("a node that an operator uncordons by hand is not cordoned again when the marks are removed") {
  json marked = bare_node();
  const auto patch = patch_to_mark(marked, some_record(core::PowerState::idle, 1));
  REQUIRE(patch);
  marked = merged(marked, **patch);
  marked["spec"].erase("unschedulable");
  const auto back = patch_to_unmark(marked);
  REQUIRE(back);
  CHECK(!merged(marked, **back)["spec"].contains("unschedulable"));
}

TEST_CASE("a taint without the annotation is removed, and a cordon without it stays") {
  json node = bare_node();
  node["spec"]["unschedulable"] = true;
  node["spec"]["taints"].push_back(json{{"key", "wattle.dev/sleep"}, {"effect", "NoSchedule"}});
  const auto patch = patch_to_unmark(node);
  REQUIRE(patch);
  REQUIRE(patch->has_value());
  const json left = merged(node, **patch);
  CHECK(!left["spec"].contains("taints"));
  CHECK(left["spec"]["unschedulable"] == true);
}

TEST_CASE("removing the marks also removes the taint that Cluster Autoscaler left, and no other taint") {
  json node = bare_node();
  for (const char* key : {"ToBeDeletedByClusterAutoscaler", "gpu"})
    node["spec"]["taints"].push_back(json{{"key", key}, {"value", "1764370203"}, {"effect", "NoSchedule"}});
  const auto unmarked = patch_to_unmark(node);
  REQUIRE(unmarked);
  CHECK(!unmarked->has_value());  // the node was not handed over
  const auto patch = patch_to_mark(node, some_record(core::PowerState::idle, 1));
  REQUIRE(patch);
  const json marked = merged(node, **patch);
  CHECK(marked["spec"]["taints"].size() == 3);
  const auto back = patch_to_unmark(marked);
  REQUIRE(back);
  const json left = merged(marked, **back);
  REQUIRE(left["spec"]["taints"].size() == 1);
  CHECK(left["spec"]["taints"][0]["key"] == "gpu");
}

TEST_CASE("removing the marks also removes the taint that Kubernetes derives from Wattle's cordon") {
  for (const bool own : {true, false}) {
    json node = bare_node();
    if (!own) node["spec"]["unschedulable"] = true;
    const auto patch = patch_to_mark(node, some_record(core::PowerState::idle, 1));
    REQUIRE(patch);
    json marked = merged(node, **patch);
    marked["spec"]["taints"].push_back(json{{"key", std::string(kCordonTaint)}, {"effect", "NoSchedule"}});
    const auto back = patch_to_unmark(marked);
    REQUIRE(back);
    const json left = merged(marked, **back);
    CHECK(left["spec"].contains("taints") == !own);
    CHECK(left["spec"].contains("unschedulable") == !own);
  }
}

TEST_CASE("the cordon of a node that another program has begun to drain becomes that program's") {
  const auto patch = patch_to_mark(bare_node(), some_record(core::PowerState::draining, 1));
  REQUIRE(patch);
  json marked = merged(bare_node(), **patch);
  marked["status"]["conditions"] =
      json::parse(R"([{"type": "DrainInProgress", "status": "True", "reason": "Operator"}])");
  const auto back = patch_to_unmark(marked);
  REQUIRE(back);
  const json left = merged(marked, **back);
  CHECK(left["spec"]["unschedulable"] == true);
  CHECK_FALSE(has_taint(left));
  CHECK_FALSE(left["metadata"].contains("annotations"));
  CHECK(kube::read_drainer(left).holds.find("DrainInProgress, reason Operator") != std::string::npos);
}

TEST_CASE("an awake, unmarked node loses the annotations") {
  core::NodePowerRecord record = some_record(core::PowerState::awake, 4);
  record.marked = false;
  json node = merged(bare_node(), patch_to_annotate(some_record(core::PowerState::failed, 4)));
  CHECK(node["metadata"]["annotations"][kStateAnnotation] == "failed");
  CHECK(node["metadata"]["annotations"][kSinceAnnotation] == "2025-11-28T22:50:03.012345Z");
  CHECK(merged(node, patch_to_annotate(record)) == bare_node());
}

TEST_CASE("an answer that is not a Node is refused") {
  for (const char* text : {"{}", "[]", R"({"metadata": []})", R"({"metadata": {"resourceVersion": 3}})"}) {
    CHECK(!patch_to_mark(json::parse(text), some_record(core::PowerState::idle, 1)));
    CHECK(!patch_to_unmark(json::parse(text)));
  }
}

}  // namespace
}  // namespace wattle::controller::power
