#include "shim/extender.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "common/json/value.hpp"
#include "common/parse.hpp"

using json = wattle::SortedJson;
using wattle::Errc;
using wattle::shim::format_filter;
using wattle::shim::format_filter_nodes;
using wattle::shim::format_scores;
using wattle::shim::names_of;
using wattle::shim::parse_extender_args;
using wattle::shim::raw_member;

namespace {

// A request of kube-scheduler 1.32, reduced to the relevant parts.
const char* const kArgs = R"({"Pod":{"metadata":{"name":"web-5d9c7-x2x","generateName":"web-5d9c7-","namespace":"shop",
"uid":"0f7c6a52-3c55-4c6f-9d0e-0b2a5f7a3c11","creationTimestamp":"2024-11-21T03:00:00Z","labels":{"app":"web"},
"annotations":{"wattle.dev/latency-soft-ms":"20","wattle.dev/latency-hard-ms":" 50.5 ","wattle.dev/latency-target":"users"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9c7","uid":"7a","controller":true}]},
"spec":{"containers":[{"name":"web","image":"nginx:1.25","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"250m","memory":"64Mi"}}},
{"name":"log","image":"fluent:3","resources":{"requests":{"cpu":"0.5","memory":"100M"}}}],
"restartPolicy":"Always","schedulerName":"wattle","priority":0},"status":{"phase":"Pending","qosClass":"Burstable"}},
"Nodes":null,"NodeNames":["n1","n2","n1"]})";

json with(const json& patch) {
  json args = json::parse(kArgs);
  args.update(patch);
  return args;
}

wattle::wire::Ask ask_of(const json& args) {
  auto ask = parse_extender_args(args.dump());
  REQUIRE(ask);
  return *ask;
}

json annotated(const json& annotations) {
  json args = json::parse(kArgs);
  args["Pod"]["metadata"]["annotations"] = annotations;
  return args;
}

}  // namespace

TEST_CASE("a request of kube-scheduler becomes an ask") {
  const auto ask = parse_extender_args(kArgs);
  REQUIRE(ask);
  CHECK(ask->pod_uid == "0f7c6a52-3c55-4c6f-9d0e-0b2a5f7a3c11");
  CHECK(ask->pod_name == "web-5d9c7-x2x");
  CHECK(ask->pod_namespace == "shop");
  CHECK(ask->app == "ReplicaSet/web-5d9c7 nginx:1.25,fluent:3");
  CHECK(ask->cpu_request_cores == doctest::Approx(0.75));
  CHECK(ask->memory_request_bytes == doctest::Approx(64.0 * 1048576 + 100e6));
  CHECK_FALSE(ask->daemonset);
  CHECK(ask->latency_soft_ms == 20.0);
  CHECK(ask->latency_hard_ms == 50.5);
  CHECK(ask->latency_target == "users");
  CHECK(ask->node_name.empty());
  CHECK(ask->candidates == std::vector<std::string>{"n1", "n2", "n1"});
  CHECK(ask->problems.empty());
}

TEST_CASE("whole nodes are accepted by their names") {
  const auto ask =
      ask_of(with({{"NodeNames", nullptr},
                   {"Nodes", {{"items", {{{"metadata", {{"name", "a"}}}}, {{"metadata", {{"name", "b"}}}}}}}}}));
  CHECK(ask.candidates == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a request without candidates is well-formed") {
  CHECK(ask_of(with({{"NodeNames", json::array()}})).candidates.empty());
  CHECK(ask_of(with({{"NodeNames", nullptr}})).candidates.empty());
  CHECK(ask_of(json{{"Pod", json::object()}}).candidates.empty());
}

TEST_CASE("the request is the maximum for starting or running, including sidecars and overhead") {
  const auto container = [](const char* cpu, const char* memory) {
    return json{{"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}};
  };
  json sidecar = container("1", "1Gi");
  sidecar["restartPolicy"] = "Always";
  json args = json::parse(kArgs);
  auto& spec = args["Pod"]["spec"];
  spec["containers"] = {container("500m", "1Gi"), container("500m", "1Gi")};
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(1.0));
  spec["initContainers"] = json::array({container("3", "1Mi")});
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(3.0));
  CHECK(ask_of(args).memory_request_bytes == doctest::Approx(2.0 * 1073741824));
  spec["initContainers"] = {sidecar, container("3", "1Mi")};
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(4.0));
  CHECK(ask_of(args).memory_request_bytes == doctest::Approx(3.0 * 1073741824));
  spec["overhead"] = {{"cpu", "100m"}};
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(4.1));
  spec["resources"] = {{"requests", {{"cpu", "2"}}}};
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(2.1));
  CHECK(ask_of(args).problems.empty());
}

TEST_CASE("pods of a DaemonSet and static pods are distinguished from the rest") {
  const auto owned_by = [](const char* kind) {
    json args = json::parse(kArgs);
    args["Pod"]["metadata"]["ownerReferences"] = {{{"kind", kind}, {"name", "x"}, {"controller", true}}};
    return ask_of(args).daemonset;
  };
  CHECK(owned_by("DaemonSet"));
  CHECK_FALSE(owned_by("Job"));
  // A static pod is bound when it is created; a pod that its author marks as static is an ordinary one.
  CHECK_FALSE(owned_by("Node"));
  CHECK_FALSE(ask_of(annotated({{"kubernetes.io/config.source", "file"}})).daemonset);
  const auto mirror = ask_of(annotated({{"kubernetes.io/config.mirror", "abc"}}));
  CHECK_FALSE(mirror.daemonset);
  CHECK(mirror.pod_uid != "abc");
}

TEST_CASE("an ask has the time that its scheduler may hold the pod: for a volume, a device, or the rest of a gang") {
  const auto hold_ms = [](auto change) {
    json args = json::parse(kArgs);
    change(args["Pod"]);
    return ask_of(args).hold_ms;
  };
  const auto labelled = [&](const char* key) {
    return hold_ms([&](json& pod) { pod["metadata"]["labels"][key] = "job-1"; });
  };
  CHECK(hold_ms([](json&) {}) == 0);
  CHECK(hold_ms([](json& pod) { pod["spec"]["schedulingGroup"] = {{"podGroupName", "job-1"}}; }) == 300'000);
  CHECK(hold_ms([](json& pod) { pod["spec"]["workloadRef"] = {{"name", "job"}}; }) == 300'000);
  CHECK(labelled("scheduling.x-k8s.io/pod-group") == 300'000);
  CHECK(labelled("kueue.x-k8s.io/pod-group-name") == 300'000);
  CHECK(labelled("app") == 0);
  CHECK(hold_ms([](json& pod) { pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = "job-1"; }) ==
        300'000);
  const auto volume = [&](const char* kind) {
    return hold_ms([&](json& pod) {
      pod["spec"]["volumes"] = json::array({{{"name", "data"}, {kind, json::object({{"claimName", "c"}})}}});
    });
  };
  CHECK(volume("persistentVolumeClaim") == 600'000);
  CHECK(volume("ephemeral") == 600'000);
  CHECK(volume("configMap") == 0);
  CHECK(hold_ms([](json& pod) { pod["spec"]["resourceClaims"] = json::array({{{"name", "gpu"}}}); }) == 600'000);
  CHECK(hold_ms([](json& pod) { pod["spec"]["volumes"] = "none"; }) == 0);
}

TEST_CASE("the older latency annotations count, and the newer take precedence") {
  const auto older = ask_of(annotated({{"latencySoftConstraint", "10"}, {"latencyHardConstraint", "30"}}));
  CHECK(older.latency_soft_ms == 10.0);
  CHECK(older.latency_hard_ms == 30.0);
  const auto both = ask_of(annotated({{"latencySoftConstraint", "10"}, {"wattle.dev/latency-soft-ms", "5"}}));
  CHECK(both.latency_soft_ms == 5.0);
  CHECK_FALSE(both.latency_hard_ms);
}

TEST_CASE("a latency that is not a positive number is reported and ignored") {
  for (const char* value : {"fast", "", "10ms", "-1", "0", "nan", "inf", "1e999"}) {
    const auto ask = ask_of(annotated({{"wattle.dev/latency-soft-ms", value}, {"wattle.dev/latency-hard-ms", "50"}}));
    CHECK_FALSE(ask.latency_soft_ms);
    CHECK(ask.latency_hard_ms == 50.0);
    REQUIRE(ask.problems.size() == 1);
    CHECK(ask.problems[0] ==
          "wattle.dev/latency-soft-ms: '" + std::string(value) + "' is not a positive number of milliseconds; ignored");
  }
}

TEST_CASE("soft above hard is reported and both are ignored") {
  const auto ask = ask_of(annotated({{"wattle.dev/latency-soft-ms", "60"}, {"wattle.dev/latency-hard-ms", "50"}}));
  CHECK_FALSE(ask.latency_soft_ms);
  CHECK_FALSE(ask.latency_hard_ms);
  CHECK(ask.problems.size() == 1);
  const auto equal = ask_of(annotated({{"wattle.dev/latency-soft-ms", "50"}, {"wattle.dev/latency-hard-ms", "50"}}));
  CHECK(equal.latency_soft_ms == 50.0);
}

TEST_CASE("an invalid quantity is reported and counts as 0") {
  json args = json::parse(kArgs);
  args["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "a lot";
  const auto ask = ask_of(args);
  CHECK(ask.cpu_request_cores == doctest::Approx(0.5));
  REQUIRE(ask.problems.size() == 1);
  CHECK(ask.problems[0].starts_with("spec.containers[0].resources.requests.cpu: "));
  args["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1e300P";
  CHECK(ask_of(args).cpu_request_cores == doctest::Approx(0.5));
  CHECK(ask_of(args).problems.size() == 1);
}

TEST_CASE("fields of another type than the API's are treated as absent") {
  const auto ask = parse_extender_args(
      R"({"Pod":{"metadata":[1],"spec":{"containers":"none","initContainers":7,"nodeName":3}},"NodeNames":["n"]})");
  REQUIRE(ask);
  CHECK(ask->pod_uid.empty());
  CHECK(ask->cpu_request_cores == 0);
  CHECK(ask->candidates.size() == 1);
}

TEST_CASE("no text exceeds the wire's limit, and none is truncated within a character") {
  json args = json::parse(kArgs);
  std::string image;
  for (int i = 0; i < 3000; ++i) image += "\xC3\xA4";
  args["Pod"]["spec"]["containers"][0]["image"] = image;
  args["Pod"]["metadata"]["annotations"]["wattle.dev/latency-soft-ms"] = image;
  const auto ask = ask_of(args);
  CHECK(ask.app.size() <= 512);
  CHECK(ask.problems.at(0).size() < 200);
  CHECK(wattle::parse::is_utf8(ask.app));
  CHECK(wattle::parse::is_utf8(ask.problems.at(0)));
}

TEST_CASE("a request that is nested too deeply or takes too much memory is refused, wherever that occurs") {
  const auto refused = [](const std::string& body) {
    const auto ask = parse_extender_args(body);
    REQUIRE_FALSE(ask);
    CHECK(ask.error().code == Errc::out_of_range);
    CHECK(ask.error().subject == "request body");
  };
  const std::string deep = std::string(75'000, '[') + std::string(75'000, ']');
  refused(deep);
  refused(R"({"Pod":{"metadata":{"annotations":{"wattle.dev/latency-hard-ms":)" + deep + "}}}}");
  refused(R"({"Pod":{"spec":{"containers":[{"resources":{"requests":{"cpu":)" + deep + "}}}]}}}");
  refused(R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"},"status":)" + deep + "}]}}");
  refused(R"({"Pod":{},"NodeNames":)" + deep + "}");
  std::string wide = R"({"Pod":[0)";
  while (wide.size() < 6U << 20U) wide += ",[]";
  refused(wide + "]}");
}

TEST_CASE("a malformed request is refused and the error named") {
  const auto subject_of = [](const std::string& body) {
    const auto ask = parse_extender_args(body);
    REQUIRE_FALSE(ask);
    CHECK(ask.error().code == Errc::malformed);
    return ask.error().subject;
  };
  CHECK(subject_of("") == "request body");
  CHECK(subject_of("{\"Pod\":{") == "request body");
  CHECK(subject_of("[]") == "request body");
  CHECK(subject_of("{\"Pod\":{},\"NodeNames\":[\"\xff\"]}") == "request body");
  CHECK(subject_of(R"({"Pod":{"priority":1e999},"NodeNames":[]})") == "request body");
  CHECK(subject_of("{}") == "Pod");
  CHECK(subject_of(R"({"Pod":null,"NodeNames":[]})") == "Pod");
  CHECK(subject_of(R"({"Pod":{},"NodeNames":"n1"})") == "NodeNames");
  CHECK(subject_of(R"({"Pod":{},"NodeNames":["n1",7]})") == "NodeNames[1]");
  CHECK(subject_of(R"({"Pod":{},"Nodes":{"items":7}})") == "Nodes");
  CHECK(subject_of(R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}},{}]}})") == "Nodes.items[1].metadata.name");
}

TEST_CASE("megabytes of whole nodes are reduced to their names, and the pod is kept, in any order of members") {
  json args = json::parse(kArgs);
  const auto wanted = ask_of(args);
  args.erase("NodeNames");
  args["Nodes"] = {{"metadata", {{"name", "no node"}}}, {"items", json::array()}};
  for (int i = 0; i < 500; ++i) {
    json node = {{"metadata", {{"name", "n" + std::to_string(i)}, {"labels", {{"name", "a label"}}}}},
                 {"spec", {{"metadata", {{"name", "nested"}}}}},
                 {"status", {{"images", json::array()}}}};
    for (int image = 0; image < 50; ++image)
      node["status"]["images"].push_back({{"names", {std::string(40, 'i')}}, {"sizeBytes", image}});
    args["Nodes"]["items"].push_back(node);
  }
  const std::string pod_last = "{\"Nodes\":" + args["Nodes"].dump() + ",\"Pod\":" + args["Pod"].dump() + "}";
  REQUIRE(pod_last.size() > (1 << 20));
  for (const std::string& body : {args.dump(), pod_last}) {
    const auto ask = parse_extender_args(body);
    REQUIRE(ask);
    REQUIRE(ask->candidates.size() == 500);
    CHECK(ask->candidates.front() == "n0");
    CHECK(ask->candidates.back() == "n499");
    CHECK(ask->pod_uid == wanted.pod_uid);
    CHECK(ask->app == wanted.app);
    CHECK(ask->cpu_request_cores == wanted.cpu_request_cores);
  }
}

TEST_CASE("a request that would take much more memory than its bytes is refused before it does") {
  const std::string deep = "{\"Pod\":" + std::string(2'000'000, '[');
  std::string many = "{\"Pod\":{},\"NodeNames\":[\"\"";
  for (int i = 0; i < 400'000; ++i) many += ",\"\"";
  for (const std::string& body : {deep, many + "]}"}) {
    const auto ask = parse_extender_args(body);
    REQUIRE_FALSE(ask);
    CHECK(ask.error().code == Errc::out_of_range);
    CHECK(ask.error().subject == "request body");
  }
}

TEST_CASE("scores are a bare array of integers in candidate order, without those that are 0") {
  const std::vector<std::string> nodes{"b", "a\"\\", "b"};
  const std::vector<std::int64_t> scores{10, 0, 10};
  CHECK(format_scores(nodes, scores) == R"([{"Host":"b","Score":10},{"Host":"b","Score":10}])");
  CHECK(format_scores(nodes, std::vector<std::int64_t>{0, 3, 0}) == R"([{"Host":"a\"\\","Score":3}])");
  CHECK(format_scores(nodes, std::vector<std::int64_t>{0, 0, 0}) == "[]");
  CHECK(format_scores({}, {}) == "[]");
}

TEST_CASE("a filter's reply has names that passed and reasons that preemption would not resolve") {
  const std::vector<std::string> passed{"n1", "n\"2"};
  const json reply = json::parse(format_filter(passed, {{"n3", "too far"}}));
  CHECK(reply == json{{"NodeNames", {"n1", "n\"2"}},
                      {"FailedNodes", json::object()},
                      {"FailedAndUnresolvableNodes", {{"n3", "too far"}}},
                      {"Error", ""}});
  CHECK(json::parse(format_filter({}, {}))["NodeNames"] == json::array());
}

TEST_CASE("whole nodes are returned unchanged") {
  const std::string nodes = R"({"items":[{"metadata":{"name":"n}\"1","annotations":{"NodeNames":"[\\"}}}, 1.50]})";
  const std::string text = R"( {"Pod" : {"NodeNames":["x"],"a":[[{}]]}, "NodeNames":null , "Nodes":)" + nodes + "\n}";
  CHECK_FALSE(raw_member(text, "NodeNames"));
  REQUIRE(raw_member(text, "Nodes"));
  CHECK(raw_member(text, "Nodes") == nodes);
  CHECK(json::parse(format_filter_nodes(*raw_member(text, "Nodes")))["Nodes"] == json::parse(nodes));
  CHECK_FALSE(raw_member(text, "FailedNodes"));
  CHECK_FALSE(raw_member("[]", "Nodes"));
  CHECK_FALSE(raw_member("{", "Nodes"));
  CHECK(raw_member(R"({"a":1,"a":2})", "a") == "2");
}

TEST_CASE("the names of a request with an invalid pod are still readable") {
  CHECK(names_of(R"({"Pod":7,"NodeNames":["n1","n2"]})") == std::vector<std::string>{"n1", "n2"});
  CHECK(names_of(R"({"Pod":7,"NodeNames":["n1",2]})").empty());
  CHECK(names_of("not JSON").empty());
}

TEST_CASE("names do not depend on the spelling of their list") {
  CHECK(rc::check([](const std::vector<std::string>& drawn) {
    json args = json::parse(kArgs);
    args["NodeNames"] = json::array();
    for (const std::string& name : drawn)  // as text, for any bytes
      args["NodeNames"].push_back(json::parse(json(name).dump(-1, wattle::JsonText::ascii)));
    const auto names = args["NodeNames"].get<std::vector<std::string>>();
    for (const std::string& text : {args.dump(), args.dump(1), args.dump(-1, wattle::JsonText::ascii)}) {
      const auto ask = parse_extender_args(text);
      RC_ASSERT(ask.has_value());
      RC_ASSERT(ask->candidates == names);
    }
  }));
}

TEST_CASE("a list of names that is not JSON is refused with its position in the request") {
  const std::string before = R"({"Pod":{},"NodeNames":)";
  for (const char* list : {R"(["a",])", R"(["a" "b"])", R"(["a"]])", "[\"a\nb\"]", R"(["a\"])", R"(["a)", R"([)"}) {
    const auto ask = parse_extender_args(before + list + "}");
    REQUIRE_FALSE(ask);
    CHECK(ask.error().code == Errc::malformed);
  }
  const auto behind = parse_extender_args(before + R"(["a","b","c"],})");
  REQUIRE_FALSE(behind);
  CHECK(behind.error().what == "is not JSON, byte 37");
  const auto last = parse_extender_args(R"({"Pod":{},"NodeNames":["a"],"NodeNames":["b","c"],"Nodes":null})");
  REQUIRE(last);
  CHECK(last->candidates == std::vector<std::string>{"b", "c"});
}
