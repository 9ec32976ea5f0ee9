// preferences: a pod's soft preferences, and the soft taints that it tolerates.
#include "common/kube/preferences.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"

#include "common/kube/node.hpp"
#include "common/kube/pod.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;
using Texts = std::vector<std::string>;

json pod(const json& spec, const json& metadata = json::object()) { return {{"metadata", metadata}, {"spec", spec}}; }

json preferred(const char* kind) {
  return {{"affinity", {{kind, {{"preferredDuringSchedulingIgnoredDuringExecution", {{{"weight", 1}}}}}}}}};
}

}  // namespace

TEST_CASE("each kind of soft preference is read, and required ones are not") {
  CHECK(soft_preferences(pod(preferred("nodeAffinity"))) == Texts{"node affinity"});
  CHECK(soft_preferences(pod(preferred("podAffinity"))) == Texts{"pod affinity"});
  CHECK(soft_preferences(pod(preferred("podAntiAffinity"))) == Texts{"pod anti-affinity"});
  const auto spread = [](const char* when) {
    return json{{"topologySpreadConstraints", {{{"whenUnsatisfiable", when}}}}};
  };
  CHECK(soft_preferences(pod(spread("ScheduleAnyway"))) == Texts{"topology spread"});
  CHECK(soft_preferences(pod(spread("DoNotSchedule"), {{"labels", {{"app", "web"}}}})).empty());
  CHECK(soft_preferences(pod({{"nodeSelector", {{"disk", "ssd"}}}})).empty());
}

TEST_CASE("a pod with labels may be spread by kube-scheduler by default, except for pods of Jobs and DaemonSets") {
  const json labels = {{"app", "web"}};
  const auto owned = [&](const char* kind) {
    return pod(json::object(), {{"labels", labels}, {"ownerReferences", {{{"kind", kind}, {"name", "x"}}}}});
  };
  CHECK(soft_preferences(owned("ReplicaSet")) == Texts{"default topology spread"});
  CHECK(soft_preferences(owned("StatefulSet")) == Texts{"default topology spread"});
  CHECK(soft_preferences(pod(json::object(), {{"labels", labels}})) == Texts{"default topology spread"});
  CHECK(soft_preferences(owned("Job")).empty());
  json indexed = owned("Job");
  indexed["spec"]["subdomain"] = "workers";  // a headless Service selects it
  CHECK(soft_preferences(indexed) == Texts{"default topology spread"});
  CHECK(soft_preferences(owned("DaemonSet")).empty());
  CHECK(soft_preferences(pod(json::object())).empty());
}

TEST_CASE("tolerations of PreferNoSchedule taints are read, and those of other effects are not") {
  const json list = {{{"key", "spare"}, {"value", "yes"}},
                     {{"key", "any"}, {"operator", "Exists"}, {"effect", "PreferNoSchedule"}},
                     {{"operator", "Exists"}},
                     {{"key", "hard"}, {"effect", "NoSchedule"}},
                     {{"key", "greater"}, {"operator", "Gt"}, {"value", "3"}},
                     7};
  CHECK(soft_tolerations(pod({{"tolerations", list}})) == Texts{"spare=yes", "any", "*"});
  CHECK(soft_tolerations(pod({{"tolerations", "all"}})).empty());
}

TEST_CASE("members of another type are ignored") {
  for (const json& odd : {json(), json(3), json("text"), json::array({1, "a", nullptr}), json::object()}) {
    CHECK(soft_preferences(odd).empty());
    CHECK(soft_preferences(pod(odd)).empty());
    CHECK(soft_preferences(pod({{"affinity", odd}, {"topologySpreadConstraints", odd}, {"tolerations", odd}})).size() <=
          1);
    CHECK(soft_tolerations(pod({{"tolerations", odd}})).empty());
  }
}

TEST_CASE("a replica is identified by its namespace and its owner") {
  const json object = {{"metadata",
                        {{"namespace", "shop"},
                         {"name", "web-5d9-x"},
                         {"labels", {{"pod-template-hash", "5d9"}}},
                         {"ownerReferences", {{{"kind", "ReplicaSet"}, {"name", "web-5d9"}, {"controller", true}}}}}}};
  CHECK(read_pod(object).replica_of == "shop/ReplicaSet/web-5d9");
  CHECK(read_pod({{"metadata", {{"name", "alone"}}}}).replica_of.empty());
}

TEST_CASE("a node's zone and its PreferNoSchedule taints are read") {
  const Node node = read_node({{"metadata", {{"name", "n1"}, {"labels", {{"topology.kubernetes.io/zone", "a"}}}}},
                               {"spec",
                                {{"taints",
                                  {{{"key", "spare"}, {"value", "yes"}, {"effect", "PreferNoSchedule"}},
                                   {{"key", "hard"}, {"effect", "NoSchedule"}},
                                   {{"key", "empty"}, {"effect", "PreferNoSchedule"}}}}}}});
  CHECK(node.zone() == "a");
  CHECK(node.soft_taints == Texts{"empty=", "spare=yes"});
  CHECK(read_node(json::object()).zone().empty());
}

}  // namespace wattle::kube
