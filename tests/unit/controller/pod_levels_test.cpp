#include "controller/provision/pod_levels.hpp"

#include <doctest/doctest.h>

#include "common/actuation.hpp"
#include "controller/provision/request_words.hpp"
#include "tests/unit/controller/request_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using kube::PodProvision;
using Levels = std::map<std::string, std::string>;

namespace {
kube::Pod saying(const std::string& uid, PodProvision level, const std::string& node = "n1") {
  kube::Pod pod = RequestRig::pod_of(uid);
  pod.node_name = node;
  pod.provision = level;
  return pod;
}

bool says(const RequestWorkload& workload, const std::string& text) {
  for (const std::string& line : request_words(workload))
    if (line.find(text) != std::string::npos) return true;
  return false;
}
}  // namespace

TEST_CASE("a node gets the levels of its own pods for as long as the pods exist") {
  PodLevels levels;
  CHECK(levels.of("n1").empty());
  levels.described(saying("a", PodProvision::limits));
  levels.described(saying("b", PodProvision::off));
  levels.described(saying("c", PodProvision::suggest, "n2"));
  levels.described(saying("d", PodProvision::unsaid));
  levels.described(saying("e", PodProvision::requests));
  levels.described(saying("f", PodProvision::protect));
  CHECK(levels.of("n1") == Levels{{"a", "limits"}, {"b", "off"}, {"f", "protect"}});
  levels.left("f");
  CHECK(levels.of("n2") == Levels{{"c", "suggest"}});
  levels.described(saying("b", PodProvision::unsaid));
  levels.described(saying("a", PodProvision::requests));
  CHECK(levels.of("n1").empty());
  levels.described(saying("a", PodProvision::limits));
  kube::Pod ended = saying("c", PodProvision::suggest, "n2");
  ended.ended = true;
  levels.described(ended);
  levels.left("a");
  levels.left("nobody");
  CHECK(levels.of("n1").empty());
  CHECK(levels.of("n2").empty());
}

TEST_CASE("a pod has either limits or requests: one whose requests were set is not reported with limits") {
  PodLevels levels;
  kube::Pod pod = saying("a", PodProvision::limits);
  pod.requests_set = true;
  levels.described(pod);
  CHECK(levels.of("n1") == Levels{{"a", "suggest"}});
}

TEST_CASE("a node with too many pods gets only as many levels as its actuator accepts") {
  PodLevels levels;
  for (std::size_t i = 0; i < actuation::kMaxWorkloads + 10; ++i)
    levels.described(saying("p" + std::to_string(i), PodProvision::limits));
  CHECK(levels.of("n1").size() == actuation::kMaxWorkloads);
  levels.left("p0");
  levels.described(saying("late", PodProvision::limits));
  CHECK(levels.of("n1").contains("late"));
}

TEST_CASE("a workload whose pods all have the level limits, or off, has that state and no suggested requests") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  rig.report(pod);
  rig.hours(14, 0.5);
  REQUIRE(differs(rig.web()));
  for (const auto& [level, state] : {std::pair(PodProvision::limits, "limits"), std::pair(PodProvision::off, "off")}) {
    pod.provision = level;
    rig.report(pod);
    CHECK(state_of(rig.web()) == state);
    rig.minute(0.5);
    CHECK(state_of(rig.web()) == state);
    CHECK_FALSE(differs(rig.web()));
    CHECK(says(rig.web(), std::string("annotation wattle.dev/provision: ") + state));
  }
  CHECK(rig.book->totals().suggested == 0);
  pod.provision = PodProvision::limits;
  pod.requests_set = true;
  rig.report(pod);
  CHECK(says(rig.web(), "with annotation wattle.dev/provision: limits but with requests set by Wattle"));
  const auto reported = rig.provision({{"workload", "web"}});
  REQUIRE(reported);
  CHECK((*reported)["workloads"][0]["levels"]["limits"] == 1);
  CHECK((*reported)["workloads"][0]["levels"]["limits_left_alone"] == 1);
  // Protection keeps requests unchanged, and does not conflict with requests that were set.
  pod.provision = PodProvision::protect;
  PodLevels levels;
  levels.described(pod);
  CHECK(levels.of(pod.node_name).at(pod.uid) == "protect");
  rig.report(pod);
  CHECK(says(rig.web(), "annotation wattle.dev/provision: protect"));
  CHECK((*rig.provision({{"workload", "web"}}))["workloads"][0]["levels"]["protect"] == 1);
  pod.provision = PodProvision::limits;
  rig.report(pod);
  // If one of two pods has another level, the workload keeps its suggestions.
  kube::Pod other = RequestRig::pod_of("b");
  other.shrink_allowed = true;
  rig.report(other);
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "lower");
}
