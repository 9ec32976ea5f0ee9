// scheduling_hold: how long kube-scheduler may hold a pod after it has chosen a node.
#include "common/kube/scheduling_hold.hpp"

#include <doctest/doctest.h>

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;
using namespace std::chrono_literals;

TEST_CASE("a member of a gang waits in Permit, whatever names its group") {
  CHECK(scheduling_hold(json::object()) == 0s);
  CHECK(scheduling_hold({{"metadata", {{"labels", {{"app", "web"}}}, {"annotations", nullptr}}}}) == 0s);
  for (const char* key :
       {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io/name", "kueue.x-k8s.io/pod-group-name",
        "scheduling.k8s.io/group-name", "gang.scheduling.koordinator.sh/name", "yunikorn.apache.org/task-group-name",
        "pod-group-name"})
    for (const char* where : {"labels", "annotations"}) {
      CHECK(scheduling_hold({{"metadata", {{where, {{key, "train"}}}}}}) == 5min);
      CHECK(scheduling_hold({{"metadata", {{where, {{key, ""}}}}}}) == 0s);
    }
  CHECK(scheduling_hold({{"spec", {{"schedulingGroup", {{"name", "train"}}}}}}) == 5min);
  CHECK(scheduling_hold({{"spec", {{"workloadRef", {{"name", "train"}}}}}}) == 5min);
}

TEST_CASE("a pod waits in PreBind for volumes and devices that are prepared for its node") {
  const auto with_volume = [](const char* kind) {
    return scheduling_hold({{"spec", {{"volumes", json::array({{{"name", "a"}, {kind, json::object()}}})}}}});
  };
  CHECK(with_volume("persistentVolumeClaim") == 10min);
  CHECK(with_volume("ephemeral") == 10min);
  for (const char* kind : {"emptyDir", "configMap", "csi", "hostPath"}) CHECK(with_volume(kind) == 0s);
  CHECK(scheduling_hold({{"spec", {{"resourceClaims", json::array({{{"name", "gpu"}}})}}}}) == 10min);
  for (const json& odd : {json(), json(7), json::array(), json("x")})
    CHECK(scheduling_hold({{"spec", {{"resourceClaims", odd}, {"volumes", odd}}}}) == 0s);
}

}  // namespace
}  // namespace wattle::kube
