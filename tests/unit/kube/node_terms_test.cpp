// node_terms: the nodes that a pod's spec allows, and requirements that a selector cannot express.
#include "common/kube/node_terms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "common/json/value.hpp"
#include "common/kube/label_selector.hpp"
#include "common/kube/pod.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;
using Labels = std::map<std::string, std::string>;

json required(const json& terms) {
  return {{"nodeAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}}}};
}

json expression(const char* key, const char* how, const json& values) {
  return {{"key", key}, {"operator", how}, {"values", values}};
}

bool allows(const json& spec, const Labels& labels) {
  const auto terms = read_node_terms(spec);
  return terms.empty() || std::any_of(terms.begin(), terms.end(), [&](const std::string& term) {
           return LabelSelector::parse(term, "pod").value().matches(labels);
         });
}

}  // namespace

TEST_CASE("node terms: a pod without a selector may run on every node") {
  CHECK(read_node_terms(json::object()).empty());
  CHECK(read_node_terms(json(7)).empty());
  CHECK(read_node_terms({{"nodeSelector", json::object()}}).empty());
  CHECK(read_pod({{"spec", {{"nodeSelector", {{"disk", "ssd"}}}}}}).node_terms.size() == 1);
}

TEST_CASE("node terms: the selector and one term of the affinity must match") {
  const json spec = {{"nodeSelector", {{"disk", "ssd"}, {"rack", ""}}},
                     {"affinity", required({{{"matchExpressions", {expression("zone", "In", {"a", "b"})}}},
                                            {{"matchFields", {expression("metadata.name", "In", {"n7"})}}}})}};
  CHECK(allows(spec, {{"disk", "ssd"}, {"rack", ""}, {"zone", "b"}}));
  CHECK(allows(spec, {{"disk", "ssd"}, {"rack", ""}, {kNodeName, "n7"}}));
  CHECK_FALSE(allows(spec, {{"disk", "ssd"}, {"rack", ""}, {"zone", "c"}}));
  CHECK_FALSE(allows(spec, {{"disk", "hdd"}, {"rack", ""}, {"zone", "a"}}));
  CHECK_FALSE(allows(spec, {{"rack", ""}, {"zone", "a"}}));
}

TEST_CASE("node terms: each operator on labels is evaluated; requirements on other properties match every node") {
  const auto one = [](const json& it) { return json{{"affinity", required({{{"matchExpressions", {it}}}})}}; };
  CHECK(allows(one(expression("gpu", "Exists", nullptr)), {{"gpu", "x"}}));
  CHECK_FALSE(allows(one(expression("gpu", "Exists", nullptr)), {}));
  CHECK(allows(one(expression("gpu", "DoesNotExist", nullptr)), {}));
  CHECK_FALSE(allows(one(expression("zone", "NotIn", {"a"})), {{"zone", "a"}}));
  CHECK(allows(one(expression("cores", "Gt", {"8"})), {{"cores", "9"}}));
  CHECK(allows(one(expression("cores", "Lt", {"8"})), {{"cores", "-7"}}));
  for (const char* label : {"8", "7", "many", "", "9.5"})
    CHECK_FALSE(allows(one(expression("cores", "Gt", {"8"})), {{"cores", label}}));
  CHECK_FALSE(allows(one(expression("cores", "Lt", {"8"})), {{"cores", "8"}}));
  CHECK_FALSE(allows(one(expression("cores", "Gt", {"8"})), {}));
  CHECK(allows(one(expression("cores", "Near", {"8"})), {}));
  CHECK(allows({{"affinity", required(json::array())}}, {}));
  CHECK(read_node_terms({{"nodeSelector", {{"k", std::string(2 << 20, 'v')}}}}).empty());
}

TEST_CASE("node terms: a list of a thousand nodes is kept") {
  json names = json::array();
  for (int node = 0; node < 1000; ++node) names.push_back("worker-" + std::to_string(node) + ".example");
  const json spec = {
      {"affinity", required({{{"matchExpressions", {expression("kubernetes.io/hostname", "In", names)}}}})}};
  CHECK(allows(spec, {{"kubernetes.io/hostname", "worker-999.example"}}));
  CHECK_FALSE(allows(spec, {{"kubernetes.io/hostname", "worker-1000.example"}}));
}

TEST_CASE("node terms: a term without requirements matches no node, and other terms still count") {
  const json none = json::object();
  CHECK_FALSE(allows({{"affinity", required(json::array({none}))}}, {{"zone", "a"}}));
  CHECK_FALSE(
      allows({{"affinity", required(json::array({json(), json{{"matchExpressions", nullptr}}}))}}, {{"none", ""}}));
  const json mixed = {
      {"affinity",
       required(json::array({none, json{{"matchExpressions", json::array({expression("zone", "In", {"a"})})}}}))}};
  CHECK(allows(mixed, {{"zone", "a"}}));
  CHECK_FALSE(allows(mixed, {{"zone", "b"}}));
}

}  // namespace wattle::kube
