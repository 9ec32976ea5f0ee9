// autoscalers: who owns the number of replicas. A missing permission makes every owner unknown.
#include "controller/kube/replica_owners.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "controller/provision/replica_book.hpp"
#include "tests/unit/controller/helpers.hpp"
#include "tests/unit/controller/request_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using Object = wattle::SortedJson;

namespace {

Object scaler(const std::string& space, const std::string& name, const Object& target) {
  return {{"metadata", {{"namespace", space}, {"name", name}}}, {"spec", {{"scaleTargetRef", target}}}};
}

std::string list_of(const std::vector<Object>& items, const std::string& next = "") {
  return Object{{"items", items}, {"metadata", {{"continue", next}}}}.dump();
}

// Answers each request by the longest matching prefix of its path.
class ScriptedApi final : public kube::Api {
 public:
  Result<kube::Reply> get(const std::string& target) override {
    asked.push_back(target);
    for (auto at = answers.rbegin(); at != answers.rend(); ++at)
      if (target.starts_with(at->first)) return at->second;
    return kube::Reply{404, ""};
  }
  Result<kube::Reply> stream(const std::string&, const std::function<bool(std::string_view)>&) override {
    return kube::Reply{404, ""};
  }
  std::map<std::string, kube::Reply> answers;
  std::vector<std::string> asked;
};

const std::string kHorizontal = "/apis/autoscaling/v2/horizontalpodautoscalers",
                  kKeda = "/apis/keda.sh/v1alpha1/scaledobjects";

Result<kube::AutoscalerLists> list_all(kube::Api& api) { return kube::list_autoscalers(api, "", "replicas.suggest"); }

class FixedRate final : public TrafficSource {
 public:
  Traffic traffic(const std::string& node, const std::string& name) const override {
    return node.empty() && name == "shop/Deployment/web" ? Traffic{rate_rps, {}, {}} : Traffic{};
  }
  std::optional<double> rate_rps = 100;
};

const std::string kWeb = "shop/Deployment/web";

// Two pods that request half a core answer 100 requests/s of 10 ms each.
struct BookRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  FixedRate rates;
  ReplicaOwner owner;
  ReplicaBook book{clock, rates, [this](const std::string&) { return owner; }};
  std::map<std::string, RequestWorkload> workloads;

  BookRig() {
    RequestWorkload web;
    web.name_space = "shop";
    web.owner = "Deployment/web";
    web.pods = web.reporting = 2;
    web.request.cpu_cores = 0.5;
    web.used.cpu_cores = 1;
    workloads[kWeb] = web;
    web.owner = "DaemonSet/each";
    workloads["shop/DaemonSet/each"] = web;
  }
  RequestWorkload& web() { return workloads.at(kWeb); }
  void minutes(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(std::chrono::minutes(1));
      finish(book.tick(workloads));
    }
  }
  ReplicaState state() { return book.state_of(kWeb, web()); }
  std::string last_sentence() { return replica_words(book, kWeb, web()).back(); }
};

}  // namespace

TEST_CASE("both kinds of autoscaler own their target's workload, over several pages of the list") {
  ScriptedApi api;
  api.answers[kHorizontal] = {200, list_of({scaler("shop", "web", {{"kind", "Deployment"}, {"name", "web"}})}, "a&b")};
  api.answers[kHorizontal + "?limit=500&continue=a%26b"] = {
      200, list_of({scaler("shop", "db", {{"kind", "StatefulSet"}, {"name", "db"}}),
                    scaler("x", "odd", {{"kind", "Thing"}, {"name", "odd"}})})};
  api.answers[kKeda] = {200, list_of({scaler("jobs", "queue", {{"name", "worker"}})})};
  const auto owners = list_all(api);
  REQUIRE_MESSAGE(owners, owners.error().message());
  CHECK(owners->of("shop/Deployment/web") == "HorizontalPodAutoscaler shop/web");
  CHECK(owners->of("shop/StatefulSet/web").empty());
  CHECK(owners->of("web/Deployment/shop").empty());
  CHECK(owners->of("shop/StatefulSet/db") == "HorizontalPodAutoscaler shop/db");
  CHECK(owners->of("jobs/Deployment/worker") == "ScaledObject jobs/queue");
  CHECK(owners->of("jobs/Deployment/other").empty());
  CHECK(api.asked.size() == 3);
  // Pods of an unknown kind may belong to any workload, so every workload that is not known has a possible owner.
  CHECK(owners->of("x/ReplicaSet/odd-5d9").find("HorizontalPodAutoscaler x/odd, which scales Thing odd") == 0);
  CHECK_FALSE(owners->of("x/Deployment/any").empty());
  api.answers[kKeda] = {404, "404 page not found"};  // without KEDA
  CHECK(list_all(api)->autoscalers == 3);
  CHECK(list_all(api)->of("jobs/Deployment/worker").empty());
}

TEST_CASE("an autoscaler of a ReplicaSet owns the workload that its pods are counted under, whatever the set's name") {
  kube::AutoscalerLists owners;
  const Object item = scaler("shop", "web", {{"kind", "ReplicaSet"}, {"name", "web-5d9f8c7b4"}});
  REQUIRE(kube::read_autoscalers(list_of({item}), kube::AutoscalerKind::horizontal, owners));
  RequestRig rig;
  rig.report(rig.pod_of("a", "ReplicaSet/web-5d9f8c7b4"));
  REQUIRE(rig.book->workloads().size() == 1);
  CHECK(owners.of(rig.book->workloads().begin()->first) == "HorizontalPodAutoscaler shop/web");
}

TEST_CASE("a missing permission or a malformed answer makes every owner unknown, and the error names the fix") {
  ScriptedApi api;
  api.answers[kHorizontal] = {403, "{}"};
  CHECK(list_all(api).error().code == Errc::denied);
  CHECK(list_all(api).error().fix.find("replicas.suggest") != std::string::npos);
  api.answers[kHorizontal] = {200, list_of({})};
  api.answers[kKeda] = {403, "{}"};
  CHECK(list_all(api).error().code == Errc::denied);
  api.answers[kHorizontal] = {500, ""};
  CHECK(list_all(api).error().code == Errc::unavailable);
  api.answers[kHorizontal] = {404, ""};  // every API server has them
  CHECK(list_all(api).error().code == Errc::unavailable);
  api.answers[kHorizontal] = {200, list_of({})};
  api.answers[kKeda] = {200, list_of({}, "again")};  // endless pagination
  CHECK(list_all(api).error().code == Errc::out_of_range);
  api.answers[kKeda] = {404, ""};
  api.answers[kHorizontal] = {200, R"({"items":null,"metadata":{}})"};  // an empty list
  CHECK(list_all(api));
  for (const std::string& body :
       {std::string("{"), std::string("{}"), std::string("[]"), std::string(R"({"items":7})"), list_of({7}),
        list_of({scaler("shop", "web", {{"kind", "Deployment"}})}), list_of({scaler("", "web", {{"name", "web"}})})}) {
    api.answers[kHorizontal] = {200, body};
    CHECK(list_all(api).error().code == Errc::malformed);
  }
}

namespace {

Object metric(const std::string& source, const std::string& resource, Object target) {
  return {{"type", source == "resource" ? "Resource" : "ContainerResource"},
          {source, {{"name", resource}, {"target", std::move(target)}}}};
}

// Returns the autoscaler that scales shop/Deployment/web by utilisation; empty if there is none.
std::string by_utilisation(kube::AutoscalerKind kind, const Object& spec) {
  Object item = scaler("shop", "web", {{"kind", "Deployment"}, {"name", "web"}});
  item["spec"].update(spec);
  kube::AutoscalerLists lists;
  REQUIRE(kube::read_autoscalers(list_of({item}), kind, lists));
  CHECK_FALSE(lists.of("shop/Deployment/web").empty());
  return lists.by_utilisation.of("shop/Deployment/web");
}

}  // namespace

TEST_CASE("an autoscaler by CPU or memory utilisation is distinguished from one by other metrics") {
  const auto horizontal = [](const Object& metrics) {
    return by_utilisation(kube::AutoscalerKind::horizontal, {{"metrics", metrics}});
  };
  const Object ratio = {{"type", "Utilization"}, {"averageUtilization", 70}};
  const Object value = {{"type", "AverageValue"}, {"averageValue", "500m"}};
  const Object external = {{"type", "External"}, {"external", {{"metric", {{"name", "queue"}}}}}};
  const std::string name = "HorizontalPodAutoscaler shop/web";
  CHECK(horizontal(Object::array({metric("resource", "cpu", ratio)})) == name + " (CPU utilisation)");
  CHECK(horizontal(Object::array({metric("resource", "memory", ratio)})) == name + " (memory utilisation)");
  CHECK(horizontal({external, metric("containerResource", "cpu", ratio), metric("resource", "memory", ratio)}) ==
        name + " (CPU and memory utilisation)");
  CHECK(horizontal(Object::array({metric("resource", "cpu", {{"averageUtilization", 70}})})) ==
        name + " (CPU utilisation)");
  CHECK(horizontal(Object::array()) == name + " (CPU utilisation)");  // the API server's default
  CHECK(by_utilisation(kube::AutoscalerKind::horizontal, {{"maxReplicas", 3}}) == name + " (CPU utilisation)");
  CHECK(horizontal(Object::array({metric("resource", "cpu", value)})).empty());
  CHECK(horizontal(Object::array({external})).empty());
  CHECK(horizontal(Object::array({7})).empty());

  const auto keda = [](const Object& triggers) {
    return by_utilisation(kube::AutoscalerKind::keda, {{"triggers", triggers}});
  };
  CHECK(keda(Object::array({{{"type", "cpu"}, {"metricType", "Utilization"}}})) ==
        "ScaledObject shop/web (CPU utilisation)");
  CHECK(keda(Object::array({{{"type", "memory"}, {"metadata", {{"value", "60"}}}}})) ==
        "ScaledObject shop/web (memory utilisation)");
  CHECK(keda(Object::array({{{"type", "memory"}, {"metadata", {{"type", "Utilization"}}}}})) ==
        "ScaledObject shop/web (memory utilisation)");
  CHECK(keda(Object::array({{{"type", "cpu"}, {"metricType", "AverageValue"}}})).empty());
  CHECK(keda(Object::array({{{"type", "cpu"}, {"metadata", {{"type", "AverageValue"}}}}})).empty());
  CHECK(keda(Object::array({{{"type", "cron"}}, {{"type", "prometheus"}, {"metricType", "Value"}}})).empty());
  CHECK(keda(Object::array()).empty());
}

TEST_CASE("if two autoscalers scale a workload, the one by utilisation is reported beside the other") {
  ScriptedApi api;
  api.answers["/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"] = {
      200, list_of({scaler("shop", "mine", {{"kind", "Deployment"}, {"name", "web"}})})};
  Object cron = scaler("shop", "night", {{"name", "web"}});
  cron["spec"]["triggers"] = Object::array({{{"type", "cron"}}});
  api.answers["/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects"] = {200, list_of({cron})};
  const auto lists = kube::list_autoscalers(api, "shop", "");
  REQUIRE_MESSAGE(lists, lists.error().message());
  CHECK(lists->of("shop/Deployment/web") == "ScaledObject shop/night");
  CHECK(lists->by_utilisation.of("shop/Deployment/web") == "HorizontalPodAutoscaler shop/mine (CPU utilisation)");
  CHECK(lists->by_utilisation.of("shop/Deployment/other").empty());
}

TEST_CASE("a list stays valid for five minutes while the server is unreachable, but not after a refusal") {
  KnownOwners known;
  MonoTime now = mono_from_ns(100 * kSecondNs);
  CHECK_FALSE(known.owner_of("shop/Deployment/web"));
  CHECK_FALSE(known.problem().empty());
  const auto seen = [] {
    kube::AutoscalerLists owners;
    owners.all.workloads["shop/Deployment/web"] = "HorizontalPodAutoscaler shop/web";
    return Result<kube::AutoscalerLists>(owners);
  };
  const auto failed = [](Errc code) { return Result<kube::AutoscalerLists>(fail(code, "lists", "no")); };
  CHECK(known.take(seen(), now));
  CHECK(known.owner_of("shop/Deployment/web") == "HorizontalPodAutoscaler shop/web");
  CHECK(known.owner_of("shop/Deployment/db") == "");
  CHECK(known.problem().empty());
  CHECK(known.take(failed(Errc::unavailable), now += std::chrono::minutes(4)));
  CHECK(known.owner_of("shop/Deployment/web") == "HorizontalPodAutoscaler shop/web");
  CHECK_FALSE(known.take(failed(Errc::timeout), now += std::chrono::minutes(2)));
  CHECK_FALSE(known.owner_of("shop/Deployment/web"));
  CHECK(known.problem() == failed(Errc::timeout).error().message());
  CHECK(known.take(seen(), now += std::chrono::minutes(1)));
  CHECK(known.take(failed(Errc::denied), now += std::chrono::minutes(1)));  // listed two minutes ago
  CHECK_FALSE(known.owner_of("shop/Deployment/web"));
  CHECK_FALSE(known.take(failed(Errc::denied), now += std::chrono::minutes(10)));
}

TEST_CASE("replicas are suggested only if no autoscaler owns their number") {
  BookRig rig;
  rig.minutes(30);
  REQUIRE(rig.book.rule_of(kWeb) != nullptr);
  CHECK(rig.book.rule_of("shop/DaemonSet/each") == nullptr);
  CHECK_FALSE(rig.book.suggested(kWeb));  // the owner is unknown
  CHECK(rig.state() == ReplicaState::unknown);
  rig.owner.problem = "denied: the controller may not list them";
  CHECK(rig.last_sentence().find("no suggestion, because the autoscalers are unknown: denied") != std::string::npos);
  CHECK(rig.last_sentence().find("may not list") != std::string::npos);
  CHECK(rig.book.totals().withheld == 1);
  rig.owner.by = "HorizontalPodAutoscaler shop/web";
  CHECK_FALSE(rig.book.suggested(kWeb));
  CHECK(rig.state() == ReplicaState::owned);
  CHECK(rig.last_sentence().find("no suggestion, because HorizontalPodAutoscaler shop/web sets their number") !=
        std::string::npos);
  rig.owner.by = "";
  REQUIRE(rig.book.suggested(kWeb));
  CHECK(rig.book.suggested(kWeb)->replicas >= 3);  // 35/s each
  CHECK(rig.state() == ReplicaState::more);
  const std::string suggested = std::to_string(rig.book.suggested(kWeb)->replicas);
  CHECK(rig.last_sentence().find("Suggested: " + suggested + " replicas; current: 2") != std::string::npos);
  rig.minutes(1);
  CHECK(rig.book.totals().workloads == 1);
  CHECK(rig.book.totals().suggested == 1);
  CHECK(rig.book.totals().withheld == 0);
  rig.workloads.erase(kWeb);
  rig.minutes(1);
  CHECK(rig.book.rule_of(kWeb) == nullptr);
  CHECK(rig.book.totals().workloads == 0);
}

TEST_CASE("fewer replicas are suggested only if all pods of the workload allow shrinking") {
  BookRig rig;
  rig.owner.by = "";
  rig.web().pods = rig.web().reporting = 9;
  rig.minutes(60);
  CHECK(rig.state() == ReplicaState::keep);
  CHECK(rig.last_sentence().find("wattle.dev/shrink: allowed") != std::string::npos);
  rig.web().shrink_allowed = true;
  rig.minutes(1);
  CHECK(rig.state() == ReplicaState::fewer);
  CHECK(rig.last_sentence().find("wattle.dev/shrink") == std::string::npos);
}

TEST_CASE("pods without an agent are assumed to use as much as the others; if most have none, usage is unknown") {
  BookRig rig;
  rig.owner.by = "";
  rig.web().pods = 4;
  rig.web().reporting = 2;
  rig.web().used.cpu_cores = 0.5;  // by both pods
  rig.minutes(30);
  REQUIRE(rig.book.suggested(kWeb));
  CHECK(rig.book.suggested(kWeb)->core_s_per_request == doctest::Approx(0.01));
  BookRig unreported;
  unreported.owner.by = "";
  unreported.web().pods = 4;
  unreported.web().reporting = 1;
  unreported.minutes(30);
  CHECK(unreported.state() == ReplicaState::learning);
  CHECK(unreported.last_sentence().find("no suggestion yet (needs ten minutes with requests and CPU use)") !=
        std::string::npos);
}

TEST_CASE("a workload without pods or without a recent rate has no suggestion") {
  BookRig rig;
  rig.owner.by = "";
  rig.minutes(30);
  REQUIRE(rig.book.suggested(kWeb));
  rig.web().pods = rig.web().reporting = 0;
  rig.minutes(1);
  CHECK_FALSE(rig.book.suggested(kWeb));
  rig.web().pods = rig.web().reporting = 2;
  rig.minutes(1);
  CHECK(rig.book.suggested(kWeb));
  rig.rates.rate_rps.reset();
  rig.minutes(1);
  CHECK_FALSE(rig.book.suggested(kWeb));
  CHECK(rig.state() == ReplicaState::none);
  CHECK(rig.last_sentence().find("no suggestion, because its request rate is unknown") != std::string::npos);
}

TEST_CASE("the document has the suggestion or the reason for none; the list has the workloads with a replica rule") {
  RequestRig rig;
  rig.report(rig.pod_of("a"));
  rig.report(rig.pod_of("b", "Deployment/quiet"));
  FixedRate rates;
  ReplicaOwner owner{std::nullopt, "denied"};
  ReplicaBook book(rig.clock, rates, [&](const std::string&) { return owner; });
  const auto reported = [&](const Arguments& arguments) {
    const auto body =
        finished(document(rig.parts(*rig.book, book, rig.provisioning.margins()), "provision", arguments));
    REQUIRE(body);
    return Object::parse(*body);
  };
  for (int i = 0; i < 40; ++i) {
    rig.minute(1.5);
    finish(book.tick(rig.book->workloads()));
  }
  CHECK(reported({{"only", "replicas"}})["workloads"].size() == 1);
  Object row = reported({{"only", "replicas"}})["workloads"][0];
  CHECK(row["replicas"]["state"] == "unknown");
  CHECK(row["replicas"]["suggested"].is_null());
  CHECK(row["replicas"]["rate_rps"] == 100);
  owner = {"", ""};
  row = reported({{"workload", "web"}})["workloads"][0];
  CHECK(row["replicas"]["state"] == "more");
  CHECK(row["replicas"]["suggested"] == 2);  // 1.5 cores of work, 1.4 of two requested
  CHECK(row["replicas"]["aim_ratio"] == 0.7);
  CHECK(row["replicas"]["owner"].is_null());
  CHECK(row["why"].back().get<std::string>().find("Suggested: 2 replicas; current: 1") != std::string::npos);
  CHECK(reported({{"workload", "quiet"}})["workloads"][0]["replicas"].is_null());
  CHECK(reported({})["replicas"] == true);
  CHECK(rig.provision()->at("replicas") == false);
  CHECK((*rig.provision())["workloads"][0]["replicas"].is_null());
  owner = {"ScaledObject shop/web", ""};
  CHECK(reported({{"workload", "web"}})["workloads"][0]["replicas"]["owner"] == "ScaledObject shop/web");
}
