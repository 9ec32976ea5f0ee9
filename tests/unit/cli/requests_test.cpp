// requests: the action for a pod's requests, case by case, and the record that restores them.
#include "cli/requests/plan.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::cli;
using Json = wattle::OrderedJson;

namespace {

constexpr std::int64_t kNow_s = 1'800'000'000;
constexpr double kMiB = 1 << 20;

// Runs since 2026-01-01, in class Burstable.
Json pod_of(const char* cpu = "1", const char* memory = "512Mi") {
  return Json::parse(R"({"metadata":{"uid":"u1","name":"web-1","resourceVersion":"7","annotations":{}},
    "spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":")" +
                     std::string(cpu) + R"(","memory":")" + memory + R"("}}}]},
    "status":{"phase":"Running","qosClass":"Burstable","startTime":"2026-01-01T00:00:00Z"}})");
}

Json& container(Json& pod) { return pod["spec"]["containers"][0]; }
void allow_less(Json& pod) { pod["metadata"]["annotations"]["wattle.dev/shrink"] = "allowed"; }
void report(Json& pod, const char* type, const char* reason) {
  pod["status"]["conditions"].push_back(
      {{"type", type}, {"status", "True"}, {"reason", reason}, {"message", "node has too little"}});
}

Verdict plan(const Json& pod, double cores, double mib, const PodRecord* before = nullptr, PlanOptions options = {}) {
  options.now_s = kNow_s;
  return plan_pod(pod, {"shop/Deployment/web", cores, mib * kMiB}, before, options);
}

// Applies the verdict to the pod as the API server would, and returns the new record.
PodRecord carry_out(Json& pod, const Verdict& verdict, const PodRecord* before = nullptr) {
  PodRecord record = before != nullptr ? *before : PodRecord{};
  record.name = "web-1";
  record.workload = "shop/Deployment/web";
  record.container = verdict.container;
  if (before == nullptr) record.original = *verdict.now;
  record.was = *verdict.now;
  record.set = verdict.set;
  record.at_s = kNow_s;
  container(pod)["resources"]["requests"] = verdict.set.requests;
  if (!verdict.set.limits.empty()) container(pod)["resources"]["limits"] = verdict.set.limits;
  return record;
}

}  // namespace

TEST_CASE("requests are raised at once, and lowered below the original only if the pod allows it") {
  Json pod = pod_of();
  Verdict verdict = plan(pod, 1.25, 300);
  CHECK(verdict.state == "write");
  CHECK(verdict.set.text() == "cpu 1250m, memory 512Mi");
  allow_less(pod);
  verdict = plan(pod, 1.25, 300);
  CHECK(verdict.set.text() == "cpu 1250m, memory 300Mi");
  CHECK(plan(pod, 1.005, 512).state == "keep");  // within one percent
}

TEST_CASE("an order in one direction does not change values in the other") {
  Json pod = pod_of();
  allow_less(pod);
  PlanOptions options;
  options.direction = Direction::down;
  CHECK(plan(pod, 0.5, 600, nullptr, options).set.text() == "cpu 500m, memory 512Mi");
  options.direction = Direction::up;
  CHECK(plan(pod, 0.5, 600, nullptr, options).set.text() == "cpu 1, memory 600Mi");
  CHECK(plan(pod, 0.5, 300, nullptr, options).state == "keep");
}

TEST_CASE("a raised request is lowered again, to the original at most, and further only with permission") {
  Json pod = pod_of();
  const PodRecord record = carry_out(pod, plan(pod, 2, 512));
  CHECK(plan(pod, 2, 512, &record).state == "in_force");
  CHECK(plan(pod, 0.5, 100, &record).set.text() == "cpu 1, memory 512Mi");
  allow_less(pod);
  CHECK(plan(pod, 0.5, 100, &record).set.text() == "cpu 500m, memory 100Mi");
}

TEST_CASE("a change is in force when the kubelet reports it for the container, not when it is written") {
  Json pod = pod_of();
  const PodRecord record = carry_out(pod, plan(pod, 1.2, 512));
  const auto report_sizes = [&](const char* allocated, const char* actual) {
    pod["status"]["containerStatuses"] =
        Json::parse(R"([{"name":"web","allocatedResources":{"cpu":")" + std::string(allocated) +
                    R"(","memory":"512Mi"},"resources":{"requests":{"cpu":")" + actual + R"(","memory":"512Mi"}}}])");
    return plan(pod, 1.2, 512, &record);
  };
  CHECK(report_sizes("1", "1").state == "in_progress");      // not processed yet
  CHECK(report_sizes("1200m", "1").state == "in_progress");  // allocated, but not applied
  CHECK(report_sizes("1200m", "1").why == "The kubelet has not finished yet.");
  CHECK(report_sizes("1200m", "1200m").state == "in_force");
  CHECK(report_sizes("1200m", "1199m").state == "in_force");  // computed back from shares
  CHECK(plan(pod, 3, 512, &record).state == "write");         // does not block
  container(pod)["resources"]["limits"] = {{"memory", "600Mi"}};
  pod["status"]["containerStatuses"][0]["resources"]["limits"] = {{"memory", "700Mi"}};
  CHECK_FALSE(is_in_force(pod, "web"));
}

TEST_CASE("a pod that has just started is not lowered, but may be raised") {
  Json pod = pod_of();
  allow_less(pod);
  pod["status"]["startTime"] = "2027-01-15T07:50:00Z";  // ten minutes ago
  const Verdict verdict = plan(pod, 0.5, 1024);
  CHECK(verdict.set.text() == "cpu 1, memory 1024Mi");
  CHECK(verdict.why.find("half an hour") != std::string::npos);
}

TEST_CASE("limits are respected, and change with requests only in class Guaranteed") {
  Json pod = pod_of();
  container(pod)["resources"]["limits"] = {{"cpu", "1500m"}};
  CHECK(plan(pod, 3, 512).set.text() == "cpu 1500m, memory 512Mi");
  CHECK(plan(pod, 3, 512).set.limits.at("cpu") == "1500m");
  container(pod)["resources"]["limits"] = {{"cpu", "1"}, {"memory", "512Mi"}};
  pod["status"]["qosClass"] = "Guaranteed";
  const Verdict verdict = plan(pod, 3, 512);
  CHECK(verdict.set.requests.at("cpu") == "3000m");
  CHECK(verdict.set.limits.at("cpu") == "3000m");
}

TEST_CASE("obstacles are reported in words") {
  const auto why = [](const Json& pod, PlanOptions options = {}) {
    const Verdict verdict = plan(pod, 3, 1024, nullptr, options);
    CHECK(verdict.state == "refused");
    return verdict.why;
  };
  PlanOptions beside;
  beside.autoscaler = "web-vpa";
  CHECK(why(pod_of(), beside).find("web-vpa") != std::string::npos);
  PlanOptions scaled;
  scaled.scaler = "HorizontalPodAutoscaler shop/web (CPU utilisation)";
  CHECK(why(pod_of(), scaled).starts_with(scaled.scaler + " scales the workload by the ratio of use to requests"));
  Json pod = pod_of();
  pod["metadata"]["annotations"]["wattle.dev/provision"] = "limits";
  CHECK(why(pod).find("sets either limits or requests of a pod, not both") != std::string::npos);
  pod = pod_of();
  pod["status"]["qosClass"] = "BestEffort";
  CHECK(why(pod).find("BestEffort") != std::string::npos);
  pod = pod_of();
  pod["spec"]["containers"].push_back({{"name", "proxy"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}});
  CHECK(why(pod).find("default-container") != std::string::npos);
  pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] = "web";
  CHECK(plan(pod, 3, 1024).set.text() == "cpu 2500m, memory 1024Mi");  // the proxy uses the rest
  pod = pod_of();
  container(pod)["resizePolicy"] = {{{"resourceName", "memory"}, {"restartPolicy", "RestartContainer"}}};
  const Verdict verdict = plan(pod, 3, 1024);
  CHECK(verdict.set.text() == "cpu 3000m, memory 512Mi");
  CHECK(verdict.why.find("would restart") != std::string::npos);
}

TEST_CASE("a Deferred resize is waited for; an Infeasible one is reverted and not repeated until less is wanted") {
  Json pod = pod_of();
  allow_less(pod);
  PodRecord record = carry_out(pod, plan(pod, 4, 512));
  Json waiting = pod;
  report(waiting, "PodResizePending", "Deferred");
  CHECK(plan(waiting, 8, 512, &record).state == "deferred");
  Json never = pod;
  report(never, "PodResizePending", "Infeasible");
  never["status"]["containerStatuses"] = {
      {{"name", "web"}, {"allocatedResources", {{"cpu", "1"}, {"memory", "512Mi"}}}}};
  const Verdict back = plan(never, 4, 512, &record);
  CHECK(back.state == "take_back");
  CHECK(back.set.text() == "cpu 1, memory 512Mi");
  CHECK(back.why.find("node has too little") != std::string::npos);
  Json late = never;  // its kubelet has not seen the revert
  container(late)["resources"]["requests"] = {{"cpu", "1"}, {"memory", "512Mi"}};
  CHECK(plan(late, 4, 512, &record).state == "in_progress");
  late = never;
  late["metadata"]["generation"] = 5;
  late["status"]["conditions"][0]["observedGeneration"] = 4;
  CHECK(plan(late, 4, 512, &record).state == "in_progress");
  record.refused = Sizes::of(View(container(never)["resources"])).changed_from(back.set);
  record.state = "infeasible";
  CHECK(record.refused.text() == "cpu 4000m");
  record = carry_out(pod, back, &record);
  CHECK(plan(pod, 4, 512, &record).state == "infeasible");
  CHECK(plan(pod, 5, 512, &record).state == "infeasible");
  CHECK(plan(pod, 2, 512, &record).state == "write");
  CHECK(plan(pod, 4, 300, &record).set.text() == "cpu 1, memory 300Mi");  // memory was not refused
  PodRecord fixed = record;                                               // refused by a static CPU manager
  fixed.refused = {{{"cpu", "500m"}}, {}};
  CHECK(plan(pod, 0.4, 512, &fixed).state == "infeasible");
  CHECK(plan(pod, 2, 512, &fixed).state == "write");
  report(pod, "PodResizeInProgress", "");
  CHECK(plan(pod, 2, 512, &record).state == "in_progress");
  pod["status"]["conditions"][0]["reason"] = "Error";
  CHECK(plan(pod, 2, 512, &record).state == "failing");
}

TEST_CASE("a foreign write is the new original, is left alone for half an hour, and is not undone") {
  Json pod = pod_of();
  PodRecord record = carry_out(pod, plan(pod, 2, 512));
  container(pod)["resources"]["requests"]["cpu"] = "1700m";
  const Verdict seen = plan(pod, 2, 512, &record);
  CHECK(seen.foreign);
  CHECK(seen.state == "waits");
  CHECK_FALSE(plan_restore(pod, record).set);
  CHECK(plan_restore(pod, record).why.find("another client") != std::string::npos);
  record.original = record.was = record.set = *seen.now;
  record.foreign = true;
  record.at_s = kNow_s - 60;
  CHECK(plan(pod, 3, 512, &record).state == "waits");
  record.at_s = kNow_s - 3600;
  CHECK(plan(pod, 3, 512, &record).set.text() == "cpu 3000m, memory 512Mi");
  CHECK(plan(pod, 0.1, 512, &record).state == "keep");  // 1700m is the minimum now
}

TEST_CASE("a restart, a lost write and other spellings of amounts are not foreign writes") {
  Json pod = pod_of();
  Json written = pod;
  const PodRecord record = carry_out(written, plan(pod, 2, 512));
  CHECK_FALSE(plan(pod, 2, 512, &record).foreign);  // the write was lost
  CHECK(plan(pod, 2, 512, &record).state == "write");
  CHECK(plan_restore(pod, record).why == "already has its original requests");
  container(written)["resources"]["requests"]["cpu"] = "2";
  CHECK(plan(written, 2, 512, &record).state == "in_force");
  CHECK(plan_restore(written, record).set->text() == "cpu 1, memory 512Mi");
}

TEST_CASE("autoscalers count if they target the workload and are active") {
  const Json list = Json::parse(R"({"items":[
    {"metadata":{"name":"off"},"spec":{"targetRef":{"kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":"Off"}}},
    {"metadata":{"name":"db"},"spec":{"targetRef":{"kind":"StatefulSet","name":"db"}}}]})");
  CHECK(autoscaler_of(list, "Deployment/web").empty());
  CHECK(autoscaler_of(list, "StatefulSet/db") == "db");
  CHECK(autoscaler_of(Json::object(), "StatefulSet/db").empty());
  const auto of = [](const char* target, std::string_view owner) {
    return autoscaler_of(
        Json::parse(std::string(R"({"items":[{"metadata":{"name":"v"},"spec":{"targetRef":)") + target + "}}]}"),
        owner);
  };
  CHECK(of(R"({"kind":"CronJob","name":"copy"})", "Job/copy-28912345") == "v");
  CHECK(of(R"({"kind":"CronJob","name":"copy"})", "Job/other-28912345").empty());
  CHECK(of(R"({"kind":"Deployment","name":"web"})", "ReplicaSet/web-5d9bcf") == "v");
  CHECK(of(R"({"kind":"DaemonSet","name":"web"})", "Deployment/web").empty());
  // The pods of an owner of another kind do not name it.
  CHECK(of(R"({"kind":"Rollout","name":"web"})", "ReplicaSet/web-5d9bcf")
            .starts_with("v, which sets requests of Rollout"));
  CHECK(of(R"({"name":""})", "Deployment/web").empty());
  CHECK(of("null", "Deployment/web").empty());
}

TEST_CASE("a patch applies to one version of one pod") {
  const Json patch = resize_patch(pod_of(), "web", {{{"cpu", "2"}}, {}});
  CHECK(patch["metadata"]["uid"] == "u1");
  CHECK(patch["metadata"]["resourceVersion"] == "7");
  CHECK(patch["spec"]["containers"][0]["name"] == "web");
  CHECK_FALSE(patch["spec"]["containers"][0]["resources"].contains("limits"));
}

TEST_CASE("a record survives a round trip; an unreadable key is an error that names it") {
  RequestRecord record;
  PodRecord& pod = record.pods["u1"];
  pod = {"web-1", "shop/Deployment/web",
         "web",   {{{"cpu", "1"}}, {{"cpu", "2"}}},
         {},      {{{"cpu", "900m"}}, {}},
         {},      77,
         true,    "in_force",
         "so"};
  record.held = {"shop/Deployment/db"};
  record.said["shop/Deployment/web"] = {"refused", "why"};
  Json map = {{"data", record_data(record)}};
  const auto read = read_record(map);
  REQUIRE(read);
  CHECK(record_data(*read) == map["data"]);
  CHECK(read->pods.at("u1").original.limits.at("cpu") == "2");
  CHECK(read->held.contains("shop/Deployment/db"));
  for (const char* key : {"pod.u1", "held", "said"}) {
    Json broken = map;
    broken["data"][key] = "{";
    const auto refused = read_record(broken);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find(key) != std::string::npos);
  }
}

TEST_CASE("property: a pod without permission never gets less than its original, and a restore returns to it") {
  CHECK(rc::check([] {
    Json pod = pod_of();
    const bool allowed = *rc::gen::arbitrary<bool>();
    if (allowed) allow_less(pod);
    std::optional<PodRecord> record;
    for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 4000))) {
      const Verdict verdict = plan(pod, step / 1000.0, step, record ? &*record : nullptr);
      if (verdict.state == "write") record = carry_out(pod, verdict, record ? &*record : nullptr);
      const Sizes now = Sizes::of(View(container(pod)["resources"]));
      if (!allowed) RC_ASSERT(*amount_of(now.requests, "cpu") >= 1 && *amount_of(now.requests, "memory") >= 512 * kMiB);
    }
    if (!record) return;
    const Restoration back = plan_restore(pod, *record);
    if (back.set) container(pod)["resources"]["requests"] = back.set->requests;
    RC_ASSERT(Sizes::of(View(container(pod)["resources"])).same_as(record->original));
    RC_ASSERT(record->original.text() == "cpu 1, memory 512Mi");
  }));
}
