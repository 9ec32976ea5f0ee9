#include <doctest/doctest.h>

#include <algorithm>

#include "cli/fleet.hpp"
#include "cli/pre/cluster_rules.hpp"
#include "cli/pre/expiry.hpp"
#include "cli/pre/live.hpp"
#include "cli/pre/neighbours.hpp"
#include "cli/pre/rules.hpp"
#include "cli/pre/scheduler_config.hpp"
#include "cli/pre/values.hpp"
#include "common/dir.hpp"
#include "common/http/certificate.hpp"
#include "common/json/value.hpp"
#include "common/yaml_tree.hpp"
#include "tests/unit/cli/surroundings.hpp"

using namespace wattle;
using namespace wattle::cli;
using Json = wattle::OrderedJson;

namespace {

constexpr const char* kFine = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
profiles:
  - schedulerName: wattle
extenders:
  - urlPrefix: http://127.0.0.1:8888
    prioritizeVerb: prioritize
    weight: 6
    nodeCacheCapable: true
    enableHTTPS: false
    httpTimeout: 50ms
    ignorable: true
)";

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), fresh);
}

std::vector<Finding> judged(const std::string& text) { return judge_scheduler(parse_yaml(text, "it").value(), "it"); }

// The state of a finding; absent if there is none of that name.
std::optional<State> state_of(const std::vector<Finding>& findings, const std::string& name) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.name == name; });
  return found == findings.end() ? std::nullopt : std::optional(found->state);
}
bool all_ok(const std::vector<Finding>& findings) {
  return !findings.empty() &&
         std::all_of(findings.begin(), findings.end(), [](const Finding& one) { return one.state == State::ok; });
}

struct Mistake {
  const char* old;
  const char* fresh;
  const char* name;
  State state;
};

}  // namespace

TEST_CASE("a scheduler configuration like ours has no findings") { CHECK(all_ok(judged(kFine))); }

TEST_CASE("each error of a scheduler configuration is found under its own name") {
  const Mistake mistakes[] = {
      {"nodeCacheCapable: true", "nodeCacheCapable: false", "extender.nodeCacheCapable", State::failed},
      {"    nodeCacheCapable: true\n", "", "extender.nodeCacheCapable", State::failed},
      {"httpTimeout: 50ms", "httpTimeout: 5s", "extender.httpTimeout", State::failed},
      {"    httpTimeout: 50ms\n", "", "extender.httpTimeout", State::failed},
      {"httpTimeout: 50ms", "httpTimeout: 800ms", "extender.httpTimeout", State::warn},
      {"httpTimeout: 50ms", "httpTimeout: 20ms", "extender.httpTimeout", State::warn},
      {"weight: 6", "weight: 0", "extender.weight", State::failed},
      {"weight: 6", "weight: 1", "extender.weight", State::warn},
      {"weight: 6", "weight: 100", "extender.weight", State::warn},
      {"percentageOfNodesToScore: 100\n", "", "percentageOfNodesToScore", State::warn},
      {"percentageOfNodesToScore: 100", "percentageOfNodesToScore: 30", "percentageOfNodesToScore", State::warn},
      {"http://127.0.0.1:8888", "https://127.0.0.1:8888", "extender.enableHTTPS", State::failed},
      {"enableHTTPS: false", "enableHTTPS: true", "extender.enableHTTPS", State::failed},
      {"http://127.0.0.1:8888", "http://shim.example:8888", "extender.urlPrefix", State::warn},
      {"http://127.0.0.1:8888", "127.0.0.1:8888", "extender.urlPrefix", State::failed},
      {"http://127.0.0.1:8888", "http://127.0.0.1:8889", "extender.urlPrefix", State::warn},
      {"http://127.0.0.1:8888", "http://127.0.0.1", "extender.urlPrefix", State::warn},
      {"http://127.0.0.1:8888", "http://127.0.0.1:8888/scheduler", "extender.urlPrefix", State::failed},
      {"prioritizeVerb: prioritize", "prioritizeVerb: score", "extender.prioritizeVerb", State::failed},
      {"ignorable: true", "filterVerb: filter", "extender.ignorable", State::failed},
      {"ignorable: true", "ignorable: true\n    bindVerb: bind", "extender.bindVerb", State::failed},
      {"ignorable: true", "ignorable: true\n    filterVerb: filter", "extender.preemptVerb", State::failed},
      {"ignorable: true", "ignorable: true\n    filterVerb: filter\n    preemptVerb: evict", "extender.preemptVerb",
       State::failed},
      {"ignorable: true", "ignorable: true\n    managedResources: [{name: example.com/gpu}]",
       "extender.managedResources", State::warn},
      {"leaderElection: {leaderElect: false}\n", "", "leaderElection", State::failed},
      {"kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3", "apiVersion", State::failed},
      {"schedulerName: wattle", "schedulerName: wattle\n    plugins: {score: {disabled: [{name: '*'}]}}",
       "profile.wattle.plugins.score", State::warn},
  };
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.fresh);
    const auto found = judged(with(kFine, mistake.old, mistake.fresh));
    CHECK(state_of(found, mistake.name) == mistake.state);
    for (const Finding& one : found)
      if (one.state == State::failed) CHECK_FALSE(one.fix.empty());
  }
}

TEST_CASE("TLS to an extender needs a certificate authority") {
  const std::string https = with(with(kFine, "http://127.0.0.1:8888", "https://shim.example:8888"),
                                 "enableHTTPS: false", "enableHTTPS: true");
  CHECK(state_of(judged(https), "extender.tlsConfig") == State::failed);
  CHECK(all_ok(judged(with(https, "enableHTTPS: true", "enableHTTPS: true\n    tlsConfig: {caFile: /etc/ca.pem}"))));
  CHECK(state_of(judged(with(https, "enableHTTPS: true",
                             "enableHTTPS: true\n    tlsConfig: {caFile: /etc/ca.pem, insecure: true}")),
                 "extender.tlsConfig") == State::failed);
}

TEST_CASE("a filter that is ignorable and takes part in preemption is accepted") {
  CHECK(all_ok(judged(with(kFine, "prioritizeVerb: prioritize",
                           "prioritizeVerb: prioritize\n    filterVerb: filter\n    preemptVerb: preempt"))));
}

TEST_CASE("Wattle's plugin replaces the extender and runs before preemption, and its scores must count once") {
  const std::string plugin = with(kFine, "schedulerName: wattle\n",
                                  "schedulerName: wattle\n    plugins: {multiPoint: {enabled: [{name: Wattle, weight: "
                                  "6}]}, postFilter: {enabled: [{name: Wattle}]}}\n");
  CHECK(state_of(judged(plugin), "extender.prioritizeVerb") == State::failed);
  const std::string alone = plugin.substr(0, plugin.find("extenders:"));
  CHECK(all_ok(judged(alone)));
  CHECK(state_of(judged(with(alone, ", postFilter: {enabled: [{name: Wattle}]}", "")),
                 "profile.wattle.plugins.postFilter") == State::failed);
  CHECK(state_of(judged(with(alone, "multiPoint: {enabled: [{name: Wattle, weight: 6}]}, ", "")),
                 "profile.wattle.plugins.multiPoint") == State::failed);
  CHECK(all_ok(judged(
      with(plugin, "prioritizeVerb: prioritize\n    weight: 6\n", "filterVerb: filter\n    preemptVerb: preempt\n"))));
}

TEST_CASE("a scheduler with the cluster's default name keeps its leader election") {
  const auto found = judged(with(with(kFine, "leaderElection: {leaderElect: false}\n", ""), "schedulerName: wattle",
                                 "schedulerName: default-scheduler"));
  CHECK(state_of(found, "leaderElection") == State::ok);
}

TEST_CASE("a configuration in a ConfigMap is found, and so are its errors") {
  Json map = {{"kind", "ConfigMap"}, {"data", {{"scheduler.yaml", kFine}}}};
  CHECK(all_ok(judge_scheduler({map}, "it")));
  map["data"]["scheduler.yaml"] = with(kFine, "weight: 6", "weight: 0");
  CHECK(state_of(judge_scheduler({map}, "it"), "extender.weight") == State::failed);
  map["data"]["scheduler.yaml"] = "kind: KubeSchedulerConfiguration\n  - x: [";
  CHECK(state_of(judge_scheduler({map}, "it"), "yaml") == State::failed);
  CHECK(state_of(judge_scheduler({{{"kind", "List"}, {"items", Json::array({map})}}}, "it"), "yaml") == State::failed);
}

// A manifest as kubeadm writes it, with the given `command` and `mounts`.
std::vector<Finding> manifest(const std::string& tag, const std::string& command, const std::string& mounts,
                              const std::vector<std::string>& beside = {}) {
  const std::string text =
      "kind: Pod\nspec:\n  containers:\n    - image: 'registry.example/kube-scheduler:" + tag +
      "'\n      command: [kube-scheduler" + command + "]\n      volumeMounts: [" + mounts +
      "]\n  volumes: [{name: conf, hostPath: {path: /etc/kubernetes/wattle}}, {name: map, configMap: {name: x}}]\n";
  return judge_scheduler(parse_yaml(text, "it").value(), "it", beside);
}

TEST_CASE("a gate for batching is reported: it has no effect with extenders, and unknown ones prevent a start") {
  const auto batching = [](const std::string& tag, const std::string& gate) {
    return state_of(manifest(tag, ", --config=/c/x.yaml" + (gate.empty() ? "" : ", --feature-gates=" + gate),
                             "{name: map, mountPath: /c}"),
                    "batching");
  };
  CHECK_FALSE(batching("v1.34.0", ""));
  CHECK_FALSE(batching("v1.35.4", ""));
  CHECK_FALSE(batching("newest", ""));
  for (const char* said : {"OpportunisticBatching=true", "'A=true,OpportunisticBatching=false'"}) {
    CHECK(batching("v1.34.0", said) == State::failed);
    CHECK(batching("v1.35.4", said) == State::warn);
    CHECK(batching("v1.38.0", said) == State::failed);
    CHECK(batching("newest", said) == State::warn);
  }
}

TEST_CASE("a kube-scheduler manifest without --config or with another file is reported") {
  const auto config = [](const std::string& command, const std::string& mounts,
                         const std::vector<std::string>& beside = {}) {
    return state_of(manifest("v1.35.4", command, mounts, beside), "config");
  };
  const std::string host = "{name: conf, mountPath: /etc/kubernetes/wattle}",
                    file = "/etc/kubernetes/wattle/scheduler.yaml";
  CHECK(config("", host) == State::failed);
  CHECK(config(", --kubeconfig=/etc/kubernetes/scheduler.conf", host) == State::failed);
  CHECK(config(", --config=" + file, host) == State::ok);
  CHECK(config(", --config, " + file, host) == State::ok);
  CHECK(config(", --config=" + file, "") == State::failed);
  CHECK(config(", --config=" + file, "{name: conf, mountPath: /etc/kubernetes/watt}") == State::failed);
  CHECK(config(", --config=/etc/kubernetes/wattle/old.yaml", host) == State::warn);
  CHECK(config(", --config=" + file, host, {file}) == State::ok);
  CHECK(config(", --config=" + file, host, {"/tmp/other.yaml"}) == State::warn);
  CHECK(config(", --config=/c/mine.yaml", "{name: conf, mountPath: /c}", {"/etc/kubernetes/wattle/mine.yaml"}) ==
        State::ok);
  CHECK(config(", --config=/c/mine.yaml", "{name: map, mountPath: /c}") == State::ok);
}

TEST_CASE("a file without a scheduler is reported as such") {
  CHECK(state_of(judged("kind: Secret\n"), "scheduler") == State::failed);
  CHECK(state_of(judged(""), "scheduler") == State::failed);
}

TEST_CASE("values like the chart's are accepted, and harmful ones are named") {
  CHECK(all_ok(judge_values({{"images", {{"registry", "registry.example/team"}}}}, "it")));
  const auto of = [](const std::string& text) { return judge_values(parse_yaml(text, "it").value().at(0), "it"); };
  CHECK(state_of(of("scheduler: {weight: 1}"), "scheduler.weight") == State::warn);
  CHECK(state_of(of("scheduler: {tag: v1.25.1}"), "scheduler.tag") == State::failed);
  CHECK(state_of(of("shim: {deadline: 300ms}"), "shim.deadline") == State::failed);
  CHECK(state_of(of("scheduler: {name: default-scheduler}"), "scheduler.name") == State::failed);
  CHECK(state_of(of("controller: {mode: live}"), "controller.mode") == State::warn);
  CHECK(state_of(of("networkPolicy: {enabled: false}"), "networkPolicy.enabled") == State::warn);
  CHECK(state_of(of("namespaces: {agents: wattle}"), "namespaces") == State::failed);
  CHECK(state_of(of("keys: {bootstrap: false}"), "keys.bootstrap") == State::warn);
  CHECK(state_of(of("agent: {tolerations: []}"), "agent.tolerations") == State::warn);
}

TEST_CASE("an image without a reachable registry is named, and so are two modes in one file") {
  const auto of = [](const std::string& text) { return judge_values(parse_yaml(text, "it").value().at(0), "it"); };
  CHECK(state_of(of("{}"), "images.registry") == State::failed);
  CHECK(state_of(of("images: {registry: 'https://registry.example'}"), "images.registry") == State::failed);
  CHECK_FALSE(state_of(of("images: {registry: registry.example/team}"), "images.registry"));
  CHECK_FALSE(state_of(of("images: {pullPolicy: Never}"), "images.registry"));
  CHECK(state_of(of("controller: {config: {mode: live}}"), "controller.config.mode") == State::failed);
  CHECK(state_of(of("controller: {mode: 'canary:10%', config: {mode: shadow}}"), "controller.config.mode") ==
        State::failed);
  CHECK_FALSE(state_of(of("controller: {mode: live, config: {mode: live}}"), "controller.config.mode"));
}

TEST_CASE("a cluster that refuses pods of a priority is named unless the chart has a quota for it") {
  // Wording of kube-apiserver 1.35
  const std::string limited =
      "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical system-cluster-critical]}]";
  const auto of = [](const std::optional<std::string>& refusal, bool quota) {
    return judge_priority("a", "gold", refusal, quota).front().state;
  };
  CHECK(of(std::nullopt, false) == State::ok);
  CHECK(of(limited, true) == State::ok);
  CHECK(of(limited, false) == State::failed);
  CHECK(of("pods \"x\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2", true) == State::failed);
  CHECK(of("pods \"x\" is forbidden: failed quota: all: must specify limits.cpu for: probe", true) == State::failed);
  CHECK(of("pods \"x\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi", true) ==
        State::failed);
  CHECK(of("pods \"x\" is forbidden: no PriorityClass with name gold was found", true) == State::failed);
  CHECK(of("pods is forbidden: User \"x\" cannot create resource", true) == State::warn);
}

TEST_CASE("the scheduler must be neither newer than the API server nor two versions older") {
  const auto tag = [](const char* server, const char* scheduler) {
    return state_of(judge_version({{"gitVersion", server}}, scheduler), "scheduler.tag");
  };
  CHECK(tag("v1.34.2", "v1.34.0") == State::ok);
  CHECK(tag("v1.34.2", "") == State::ok);
  CHECK(tag("v1.34.2", "v1.35.0") == State::failed);
  CHECK(tag("v1.34.2", "v1.33.9") == State::warn);
  CHECK(tag("v1.34.2", "v1.32.9") == State::failed);
  CHECK(state_of(judge_version({{"gitVersion", "v1.25.0"}}, ""), "version") == State::failed);
  CHECK(state_of(judge_version({{"gitVersion", "v1.40.0"}}, ""), "version") == State::warn);
  CHECK(state_of(judge_version(Json::object(), ""), "version") == State::failed);
}

TEST_CASE("a certificate that expires within 30 days is reported, and an expired one is a failure") {
  const auto of_age = [](int days_left) {
    const WallTime now = wall_from_ns(2'000'000'000'000'000'000);
    const auto made = http::self_signed({"it"}, now, std::chrono::hours(24) * 3650).value();
    Findings out("it");
    judge_expiry(out, "certificate", made.certificate, now + std::chrono::hours(24) * (3650 - days_left), "renew it");
    return std::move(out).all().front();
  };
  CHECK(of_age(31).state == State::ok);
  CHECK(of_age(29).state == State::warn);
  CHECK(of_age(29).detail == "expires in 29 days");
  CHECK(of_age(-2).state == State::failed);
  Findings out("it");
  judge_expiry(out, "certificate", "no PEM", WallTime(), "renew it");
  CHECK(state_of(std::move(out).all(), "certificate") == State::failed);
}

TEST_CASE("local certificates of an extender's tlsConfig are checked") {
  const cli::test::Folder folder;
  const WallTime now = wall_from_ns(2'000'000'000'000'000'000);
  const auto made = http::self_signed({"it"}, now, std::chrono::hours(24) * 20).value();
  REQUIRE(write_file_atomically(folder / "ca.pem", made.certificate));
  const auto found = judge_extender_certificates(
      {{{"extenders", {{{"tlsConfig", {{"caFile", folder / "ca.pem"}, {"certFile", folder / "elsewhere.pem"}}}}}}}},
      "it", now);
  REQUIRE(found.size() == 1);
  CHECK(state_of(found, "extender.tlsConfig.ca") == State::warn);
}

TEST_CASE("programs that move or resize placed pods are reported with a way to exclude pods") {
  const auto runs = [](const char* kind, const char* image) {
    Json pod = {{"containers", {{{"image", image}}}}};
    Json spec = {{"template", {{"spec", pod}}}};
    if (std::string(kind) == "CronJob") spec = {{"jobTemplate", {{"spec", spec}}}};
    return Json{{"kind", kind}, {"metadata", {{"namespace", "kube-system"}, {"name", "it"}}}, {"spec", spec}};
  };
  const auto vpa = [](const char* mode) { return Json{{"spec", {{"updatePolicy", {{"updateMode", mode}}}}}}; };
  CHECK(all_ok(judge_neighbours({})));
  CHECK(all_ok(
      judge_neighbours({{}, {runs("Deployment", "registry.example/web:1")}, {vpa("Off"), vpa("Initial")}, false})));
  const auto found = judge_neighbours({{{"groups", {{{"name", "karpenter.sh"}}}}},
                                       {runs("Deployment", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"),
                                        runs("CronJob", "registry.k8s.io/descheduler/descheduler:v0.34.0")},
                                       {vpa("Off"), vpa("InPlaceOrRecreate"), Json::object()},
                                       false});
  for (const char* name : {"cluster-autoscaler", "karpenter", "descheduler", "vpa"})
    CHECK(state_of(found, name) == State::warn);
  for (const Finding& one : found) CHECK_FALSE(one.fix.empty());
  CHECK(found.back().detail.starts_with("2 of 3"));
  CHECK(state_of(judge_neighbours({{}, {}, {}, true}), "cluster-autoscaler") == State::warn);
}

TEST_CASE("nodes that lack something are named") {
  const auto node = [](const char* name, const char* kernel, const char* runtime, const char* ready) {
    return Json{{"metadata", {{"name", name}}},
                {"status",
                 {{"conditions", {{{"type", "Ready"}, {"status", ready}}}},
                  {"nodeInfo",
                   {{"operatingSystem", "linux"},
                    {"architecture", "amd64"},
                    {"kernelVersion", kernel},
                    {"containerRuntimeVersion", runtime}}}}}};
  };
  CHECK(all_ok(judge_nodes({node("a", "6.1.0-9-amd64", "containerd://1.7.2", "True")})));
  const auto found =
      judge_nodes({node("a", "5.4.0", "containerd://1.5.1", "False"), node("b", "6.1.0", "cri-o://1.30.0", "True")});
  CHECK(state_of(found, "nodes.kernel") == State::warn);
  CHECK(state_of(found, "nodes.runtime") == State::warn);
  CHECK(state_of(found, "nodes.ready") == State::warn);
  CHECK(found.front().detail.find("1 of 2 nodes: a") != std::string::npos);
}

TEST_CASE("Pod Security of an existing namespace must admit the agents") {
  const auto labelled = [](const char* level) {
    return Json{{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", level}}}}}};
  };
  CHECK(judge_namespace("a", "privileged", std::nullopt).front().state == State::ok);
  CHECK(judge_namespace("a", "privileged", labelled("baseline")).front().state == State::failed);
  CHECK(judge_namespace("a", "privileged", labelled("privileged")).front().state == State::ok);
  CHECK(judge_namespace("a", "restricted", labelled("restricted")).front().state == State::ok);
  CHECK(judge_namespace("a", "restricted", labelled("privileged")).front().state == State::warn);
  CHECK(judge_namespace("a", "restricted", Json::object()).front().state == State::warn);
}

TEST_CASE("a lost source of an agent is a warning, and a required one a failure") {
  const auto found = findings_of_agent(R"({"node_name":"n1","findings":[
    {"source":"cpu","state":"ok","optional":false,"why":"8 cores","fix":""},
    {"source":"rapl","state":"lost","optional":true,"why":"no zones","fix":"load it"},
    {"source":"cgroup","state":"lost","optional":false,"why":"no cgroup2","fix":"mount it"}]})");
  REQUIRE(found);
  CHECK(state_of(*found, "cpu") == State::ok);
  CHECK(state_of(*found, "rapl") == State::warn);
  CHECK(state_of(*found, "cgroup") == State::failed);
  CHECK(found->front().where == "n1");
  CHECK_FALSE(findings_of_agent("segmentation fault"));
  CHECK_FALSE(examine_this_node("/nonexistent/wattle-agent"));
}

TEST_CASE("the controller's volume needs a storage class, the default one or the named one") {
  const auto storage = [](const char* name, const char* is_default) {
    return Json{
        {"metadata", {{"name", name}, {"annotations", {{"storageclass.kubernetes.io/is-default-class", is_default}}}}}};
  };
  const std::vector<Json> none, plain = {storage("fast", "false")},
                                both = {storage("fast", "false"), storage("std", "true")};
  CHECK(judge_storage(none, "").front().state == State::warn);
  CHECK(judge_storage(plain, "").front().state == State::warn);
  CHECK(judge_storage(plain, "").front().fix.find("fast") != std::string::npos);
  CHECK(judge_storage(both, "").front().state == State::ok);
  CHECK(judge_storage(plain, "fast").front().state == State::ok);
  CHECK(judge_storage(both, "slow").front().state == State::failed);
}

TEST_CASE("the fleet: agents that are missing or disconnected, different versions, sources that several lack") {
  const auto node = [](const char* name, bool connected, const char* version, const char* source) {
    return Json{{"name", name}, {"connected", connected}, {"agent_version", version}, {"energy_source", source}};
  };
  const Json status = {{"version", "0.2.0"}};
  const Json nothing = {{"nodes", Json::array()}};
  const Json well = {{"nodes", {node("a", true, "0.2.0", "rapl"), node("b", true, "0.2.0", "perf")}}};
  CHECK(all_ok(judge_fleet(nothing, well, status, std::nullopt)));
  CHECK(all_ok(judge_fleet(nothing, well, status, {{"a", "b"}})));
  CHECK(state_of(judge_fleet(nothing, well, status, {{"a", "b", "c"}}), "agents.missing") == State::failed);
  CHECK(state_of(judge_fleet(nothing, well, status, {{"a"}}), "agents.names") == State::warn);
  const Json ill = {{"nodes", {node("a", false, "0.1.0", "rapl"), node("b", true, "0.2.0", "estimated")}}};
  CHECK(state_of(judge_fleet(nothing, ill, status, std::nullopt), "agents") == State::failed);
  CHECK(state_of(judge_fleet(nothing, ill, status, std::nullopt), "versions") == State::warn);
  CHECK(state_of(judge_fleet(nothing, ill, status, std::nullopt), "energy") == State::warn);
  const Json old = {{"nodes", {node("a", true, "0.0.9", "rapl")}}};
  CHECK(state_of(judge_fleet(nothing, old, {{"version", "0.3.0"}}, std::nullopt), "versions") == State::failed);
  const Json lost = {{{"name", "psi"}, {"state", "lost"}, {"detail", "off"}, {"fix", "psi=1"}}};
  const Json doctor = {{"nodes", {{{"name", "a"}, {"findings", lost}}, {{"name", "b"}, {"findings", lost}}}}};
  CHECK(state_of(judge_fleet(doctor, well, status, std::nullopt), "psi") == State::warn);
}

TEST_CASE("the fleet: wrong clocks are named with their difference to the controller's") {
  const auto judged = [](double ahead_s, bool connected = true) {
    const Json doctor = {{"nodes",
                          {{{"name", "a"}, {"connected", true}, {"clock_ahead_s", 0.04}},
                           {{"name", "b"}, {"connected", connected}, {"clock_ahead_s", ahead_s}},
                           {{"name", "c"}, {"connected", true}, {"clock_ahead_s", nullptr}}}}};
    return judge_fleet(doctor, {{"nodes", Json::array()}}, {{"version", "0.2.0"}}, std::nullopt);
  };
  CHECK(state_of(judged(-0.9), "clocks") == State::ok);
  CHECK(state_of(judged(1.5), "clocks") == State::warn);
  CHECK(state_of(judged(-1.5), "clocks") == State::warn);
  CHECK(state_of(judged(-400), "clocks") == State::failed);
  CHECK(state_of(judged(-400, false), "clocks") == State::ok);
  for (const Finding& finding : judged(1.5))
    if (finding.name == "clocks")
      CHECK(finding.detail == "clock differs from the controller's: 1 of 2 nodes: b +1.5 s");
}

TEST_CASE("doctor --pre reads its files, reports failures, and sets its exit code") {
  cli::test::Outside outside;
  const cli::test::Folder folder;
  REQUIRE(write_file_atomically(folder / "fine.yaml", kFine));
  REQUIRE(write_file_atomically(folder / "bad.yaml", with(kFine, "nodeCacheCapable: true", "nodeCacheCapable: false")));
  REQUIRE(write_file_atomically(folder / "values.yaml", "images: {registry: r.example}\ncontroller: {mode: live}\n"));
  CHECK(outside.run({"doctor", "--pre", "--scheduler", folder / "fine.yaml"}) == kOk);
  CHECK(outside.out.str().find("none failed") != std::string::npos);
  CHECK(outside.run({"doctor", "--pre", "--scheduler", folder / "bad.yaml", "--values", folder / "values.yaml"}) ==
        kProblem);
  CHECK(outside.out.str().find("extender.nodeCacheCapable") != std::string::npos);
  CHECK(outside.out.str().find("1 failed, 1 with warnings") != std::string::npos);
  CHECK(outside.run({"doctor", "--pre", "--scheduler", folder / "bad.yaml", "-o", "json"}) == kProblem);
  const Json document = Json::parse(outside.out.str());
  CHECK(document["ok"] == false);
  CHECK(document["findings"].size() > 5);
  CHECK(outside.run({"doctor", "--pre", "--scheduler", folder / "absent.yaml"}) == kUsage);
  CHECK(outside.complains_of("absent.yaml"));
  CHECK(outside.run({"doctor", "--scheduler", folder / "fine.yaml"}) == kUsage);
}
