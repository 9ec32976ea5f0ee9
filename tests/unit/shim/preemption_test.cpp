// preemption: kube-scheduler's ExtenderPreemptionArgs and our answer to them.
#include "shim/preemption.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"

using wattle::Errc;
using json = wattle::SortedJson;
using wattle::shim::format_preemption;
using wattle::shim::parse_preemption_args;
using wattle::shim::raw_items;
using wattle::shim::raw_members;

namespace {

using Names = std::vector<std::string>;

// Sent by kube-scheduler 1.35 to an extender that is nodeCacheCapable.
const char* const kPreemptionArgs =
    R"({"Pod":{"metadata":{"name":"high","namespace":"shop","uid":"u-high","annotations":{"wattle.dev/latency-hard-ms":"30"}},
"spec":{"containers":[{"name":"c","image":"nginx"}],"priority":1000}},"NodeNameToVictims":null,
"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}],"NumPDBViolations":2},"n2":{"Pods":[{"UID":"c"}],"NumPDBViolations":0},
"nod\u0065-3":{"Pods":[{"UID":"d \"}{"}],"NumPDBViolations":0},"empty":null}})";

}  // namespace

TEST_CASE("the nodes with victims are the candidates of the ask") {
  const auto got = parse_preemption_args(kPreemptionArgs);
  REQUIRE(got);
  CHECK(got->nodes == Names{"n1", "n2", "node-3"});
  CHECK_FALSE(got->whole_pods);
  REQUIRE(got->ask);
  CHECK(got->ask->candidates == got->nodes);
  CHECK(got->ask->pod_uid == "u-high");
  CHECK(got->ask->latency_hard_ms == 30.0);
}

TEST_CASE("victims and their violations of disruption budgets are returned unchanged") {
  const auto got = parse_preemption_args(kPreemptionArgs);
  REQUIRE(got);
  json all = json::parse(kPreemptionArgs)["NodeNameToMetaVictims"];
  all.erase("empty");
  CHECK(json::parse(format_preemption(*got, got->nodes)) == json{{"NodeNameToMetaVictims", all}});
  CHECK(json::parse(format_preemption(*got, Names{"n1"})) == json{{"NodeNameToMetaVictims", {{"n1", all["n1"]}}}});
  CHECK(format_preemption(*got, Names{}) == R"({"NodeNameToMetaVictims":{}})");
}

TEST_CASE("whole victims become their UIDs") {
  const json pods = {{{"metadata", {{"uid", "a"}, {"name", "x"}}}, {"spec", json::object()}},
                     {{"metadata", {{"uid", "b"}}}}};
  const json args = {{"Pod", json::object()},
                     {"NodeNameToVictims", {{"n1", {{"Pods", pods}, {"NumPDBViolations", 1}}}}},
                     {"NodeNameToMetaVictims", nullptr}};
  const auto got = parse_preemption_args(args.dump());
  REQUIRE(got);
  CHECK(got->whole_pods);
  CHECK(json::parse(format_preemption(*got, got->nodes)) ==
        json::parse(R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}],"NumPDBViolations":1}}})"));
}

TEST_CASE("a pod without an ask keeps the nodes, and an invalid preemption is an error") {
  const auto odd = parse_preemption_args(R"({"Pod":3,"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}]}}})");
  REQUIRE(odd);
  CHECK_FALSE(odd->ask);
  CHECK(odd->nodes == Names{"n1"});
  CHECK_FALSE(parse_preemption_args(R"({"NodeNameToMetaVictims":{}})")->ask);
  for (const char* text : {"", "{", "[]", "{}", R"({"Pod":{}})", R"({"Pod":{},"NodeNameToMetaVictims":3})",
                           R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[}}})"}) {
    CAPTURE(text);
    const auto got = parse_preemption_args(text);
    REQUIRE_FALSE(got);
    CHECK(got.error().code == Errc::malformed);
  }
}

TEST_CASE("members and items are returned as they are written") {
  const auto members = raw_members(R"( {"a": [1, {"b": "}"}] , "c\"": null})");
  REQUIRE(members.size() == 2);
  CHECK(members[0].name == "a");
  CHECK(members[0].value == R"([1, {"b": "}"}])");
  CHECK(members[1].name == "c\"");
  CHECK(members[1].value == "null");
  const auto items = raw_items(R"([ {"a":1}, [2] ,"x,]" ])");
  REQUIRE(items.size() == 3);
  CHECK(items[0] == R"({"a":1})");
  CHECK(items[1] == "[2]");
  CHECK(items[2] == R"("x,]")");
  CHECK(raw_items("[]").empty());
  CHECK(raw_items("{}").empty());
  CHECK(raw_members("[]").empty());
}
