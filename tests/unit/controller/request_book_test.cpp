// request_book: suggested requests of workloads from their pods' usage, the freed amounts, and restarts.
#include "controller/provision/request_book.hpp"

#include <doctest/doctest.h>

#include "controller/provision/request_words.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/request_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

bool says(const RequestWorkload& workload, const std::string& part) {
  for (const std::string& line : request_words(workload))
    if (line.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("pods that allow it get lower suggestions, and the freed amounts add up") {
  RequestRig rig;
  for (const char* uid : {"a", "b"}) {
    kube::Pod pod = RequestRig::pod_of(uid);
    pod.shrink_allowed = true;
    rig.report(pod);
  }
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "learning");
  CHECK(says(rig.web(), "Needs 60 more minutes of telemetry before any suggestion"));
  CHECK(says(rig.web(), "12 more hours before a smaller one"));
  rig.hours(4, 0.5);
  CHECK(says(rig.web(), "Needs 8 more hours of telemetry before a smaller suggestion"));
  CHECK(rig.web().suggested_cores() == 2);
  rig.hours(9, 0.5);
  CHECK(state_of(rig.web()) == "lower");
  CHECK(rig.web().pods == 2);
  CHECK(rig.web().used.cpu_cores == doctest::Approx(1));
  CHECK(rig.web().requested.cpu_cores == 4);
  const double cores = *rig.web().suggested_cores(), bytes = *rig.web().suggested_bytes();
  CHECK(cores >= 0.5);
  CHECK(cores < 0.55);
  CHECK(bytes >= 256.0 * kMebibyte);
  CHECK(bytes < 320.0 * kMebibyte);
  const Freed& freed = rig.web().freed;
  CHECK(freed.cpu_cores == doctest::Approx(2 * (2 - cores)));
  CHECK(freed.memory_bytes == doctest::Approx(2 * (1024.0 * kMebibyte - bytes)));
  // A pod requests a larger share of the node's 8 cores than of its 8 GiB, before and after.
  const double idle_w = rig.state.node_view("n1")->curve.idle_w();
  CHECK(*freed.power_w == doctest::Approx(2 * (2 - cores) / 8 * idle_w));
  CHECK(rig.book->totals().freed.cpu_cores == doctest::Approx(freed.cpu_cores));
  CHECK(rig.book->totals().suggested == 1);
}

TEST_CASE("without the annotation, or with one pod that lacks it, no suggestion is below the original") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  rig.report(pod);
  rig.hours(14, 0.5);
  CHECK(state_of(rig.web()) == "keep");
  CHECK(rig.web().suggested_cores() == 2);
  CHECK(rig.web().freed.cpu_cores == 0);
  CHECK(says(rig.web(), "do not allow smaller requests (annotation wattle.dev/shrink: allowed)"));
  pod.shrink_allowed = true;
  rig.report(pod);
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "lower");
  rig.report(RequestRig::pod_of("b"));
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "keep");
}

TEST_CASE("waiting raises the need; so do throttling if pressure is not reported, and OOM kills") {
  RequestRig rig;
  rig.report(RequestRig::pod_of("a"));
  for (int i = 0; i < 90; ++i)
    rig.minute(1.5, 256 * kMebibyte, [](WorkloadValues& values) { values.pressure.cpu_some_ratio = 0.6; });
  CHECK(state_of(rig.web()) == "raise");
  CHECK(*rig.web().suggested_cores() >= 2.4);
  CHECK(rig.web().freed.cpu_cores < 0);
  RequestRig throttled;
  throttled.report(RequestRig::pod_of("a"));
  for (int i = 0; i < 90; ++i)
    throttled.minute(1.5, 256 * kMebibyte, [](WorkloadValues& values) { values.cpu_throttled_us = 36'000'000; });
  CHECK(throttled.web().suggested_cores() == rig.web().suggested_cores());
  RequestRig killed;
  killed.report(RequestRig::pod_of("a"));
  for (int i = 0; i < 90; ++i)
    killed.minute(0.1, 1024 * kMebibyte, [](WorkloadValues& values) {
      values.memory_file_bytes = 512 * kMebibyte;
      values.memory_oom_kills = 1;
    });
  CHECK(*killed.web().suggested_bytes() > 1.2 * 1024 * kMebibyte);
}

TEST_CASE("a single OOM kill raises the suggestion within its minute") {
  RequestRig rig;
  rig.report(RequestRig::pod_of("a"));
  for (int i = 0; i < 65; ++i) rig.minute(0.1, 900 * kMebibyte);
  const auto before = rig.web().suggested_bytes();
  REQUIRE(before.has_value());
  REQUIRE(*before < 1.2 * 1000 * kMebibyte);
  rig.minute(0.1, 1000 * kMebibyte, [](WorkloadValues& values) { values.memory_oom_kills = 1; });
  CHECK(*rig.web().suggested_bytes() >= 1.2 * 1000 * kMebibyte);
}

TEST_CASE("page cache is not needed by a pod that does not wait for memory") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  rig.report(pod);
  const auto cached = [](WorkloadValues& values) { values.memory_file_bytes = 700 * kMebibyte; };
  for (int i = 0; i < 14 * 60; ++i) rig.minute(0.1, 900 * kMebibyte, cached);
  CHECK(*rig.web().suggested_bytes() < 300.0 * kMebibyte);
  CHECK(*rig.web().suggested_bytes() >= 200.0 * kMebibyte);
}

TEST_CASE("a rollout and a schedule continue the same workload; deleted pods do not count") {
  RequestRig rig;
  rig.report(RequestRig::pod_of("a", "Job/copy-28123456"));
  rig.minute(0.5);
  rig.report_gone("a");
  rig.minute(0.5);
  CHECK(rig.book->workloads().at("shop/Job/copy").pods == 0);
  CHECK(rig.book->totals().workloads == 0);
  CHECK(says(rig.book->workloads().at("shop/Job/copy"), "no pods now"));
  rig.report(RequestRig::pod_of("b", "Job/copy-28123516"));
  rig.report(RequestRig::pod_of("s", "Node/n1"));  // a static pod
  rig.minute(0.5);
  CHECK(rig.book->workloads().size() == 1);
  CHECK(rig.book->workloads().at("shop/Job/copy").pods == 1);
}

TEST_CASE("a restart keeps suggestions from the store's file") {
  wattle::test::TempDir dir;
  StoreOptions options;
  options.file.path = dir.file("store.db");
  options.decisions_every = std::chrono::milliseconds(1);
  const SystemClock clock;
  const Log log = Log::silent();
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  rig.report(pod);
  rig.hours(14, 0.5);
  // The rows have the rig's clock; the store's clock would find them too old.
  for (RequestRow& row : rig.kept) row.at_s = to_ns(clock.wall()) / 1'000'000'000;
  {
    auto store = Store::start(options, clock, log);
    REQUIRE(store);
    CHECK((*store)->requests_found().empty());
    (*store)->keep(rig.kept);
  }
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  REQUIRE((*store)->requests_found().size() == 1);
  const RequestWorkload before = rig.web();
  rig.start((*store)->requests_found());
  CHECK(rig.book->unreadable() == 0);
  CHECK(rig.web().rule.cpu_cores() == before.rule.cpu_cores());
  CHECK(rig.web().rule.memory_bytes() == before.rule.memory_bytes());
  CHECK(rig.web().pods == 0);
  rig.report(pod);
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "lower");
  CHECK(rig.web().suggested_cores() == before.suggested_cores());
}

TEST_CASE("invalid rows are counted, and learned again") {
  RequestRig rig;
  rig.report(RequestRig::pod_of("a"));
  rig.hours(1, 0.5);
  REQUIRE_FALSE(rig.kept.empty());
  RequestRow whole = rig.kept.back(), cut = whole, longer = whole, nameless = whole, other = whole;
  cut.body.resize(cut.body.size() - 3);
  longer.body += "x";
  nameless.workload = "web";
  other.body[0] = '\x7f';
  rig.start({cut, longer, nameless, other});
  CHECK(rig.book->unreadable() == 4);
  CHECK(rig.book->workloads().empty());
  rig.start({whole});
  CHECK(rig.book->unreadable() == 0);
  CHECK(rig.book->workloads().size() == 1);
}

TEST_CASE("the number of workloads is bounded, and one without pods makes room") {
  RequestRig rig;
  for (std::size_t i = 0; i < kMostRequestWorkloads; ++i)
    rig.book->described(RequestRig::pod_of("u" + std::to_string(i), "Deployment/d" + std::to_string(i)));
  CHECK(rig.book->workloads().size() == kMostRequestWorkloads);
  rig.report(RequestRig::pod_of("a"));
  CHECK(rig.book->beyond() == 1);
  rig.minute(0.5);  // the other workloads' pods are on no node
  rig.report(RequestRig::pod_of("a"));
  CHECK(rig.book->beyond() == 1);
  CHECK(rig.book->workloads().size() == kMostRequestWorkloads);
  CHECK(rig.book->workloads().contains("shop/Deployment/web"));
}

TEST_CASE("the document has all workloads, those that differ, or those that match the end of a name") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  pod.containers = "web,sidecar";
  pod.qos = "Guaranteed";
  rig.report(pod);
  rig.report(RequestRig::pod_of("b", "StatefulSet/db"));
  rig.hours(14, 0.5);
  const json all = *rig.provision();
  REQUIRE(all["workloads"].size() == 2);
  CHECK(all["level"] == "suggest");
  CHECK(all["more"] == 0);
  CHECK(all["totals"]["pods"] == 2);
  CHECK(all["totals"]["suggested"] == 1);
  const json& web = all["workloads"][0];
  CHECK(web["workload"] == "shop/Deployment/web");
  CHECK(web["state"] == "lower");
  CHECK(web["freed"]["energy_j_per_day"].get<double>() ==
        doctest::Approx(86'400 * web["freed"]["power_w"].get<double>()));
  CHECK((*rig.provision({{"only", "suggested"}}))["workloads"].size() == 1);
  CHECK((*rig.provision({{"limit", "1"}}))["more"] == 1);
  for (const char* name : {"web", "Deployment/web", "shop/Deployment/web"}) {
    const json one = *rig.provision({{"workload", name}});
    REQUIRE(one["workloads"].size() == 1);
    const std::string why = one["workloads"][0]["why"].dump();
    CHECK(why.find("CPU: needs") != std::string::npos);
    CHECK(why.find("2 containers; agents report whole pods") != std::string::npos);
    CHECK(why.find("QoS class Guaranteed") != std::string::npos);
  }
  CHECK(rig.provision({{"workload", "eb"}}).error().code == Errc::not_found);
  CHECK(rig.provision({{"workload", ""}}).error().code == Errc::not_found);
  CHECK(rig.provision({{"only", "some"}}).error().code == Errc::malformed);
  CHECK(rig.provision({{"limit", "0"}}).error().code == Errc::malformed);
  rig.report(RequestRig::pod_of("c", "Job/web"));
  rig.minute(0.5);
  CHECK(rig.provision({{"workload", "web"}}).error().what == "is ambiguous: shop/Deployment/web, shop/Job/web");
  const RequestBook off(rig.clock);
  const Parts without = rig.parts(off, rig.provisioning.replicas(), rig.provisioning.margins());
  CHECK(finished(document(without, "provision", {})).error().what == "provisioning.level is off");
}

TEST_CASE("metrics have the totals") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  rig.report(pod);
  rig.hours(14, 0.5);
  const RequestBook off(rig.clock);
  const Parts without = rig.parts(off, rig.provisioning.replicas(), rig.provisioning.margins());
  CHECK(finished(metrics_text(without))->find("wattle_controller_provision") == std::string::npos);
  const std::string text =
      *finished(metrics_text(rig.parts(*rig.book, rig.provisioning.replicas(), rig.provisioning.margins())));
  CHECK(text.find("wattle_controller_provision_workloads{state=\"evaluated\"} 1\n") != std::string::npos);
  CHECK(text.find("wattle_controller_provision_cores{kind=\"requested\"} 2\n") != std::string::npos);
  CHECK(text.find("wattle_controller_provision_cores{kind=\"freed\"} 1.4") != std::string::npos);
}

TEST_CASE("remaining times are shown in hours or minutes, never less than one") {
  CHECK(more_time(8 * 3600) == "8 more hours");
  CHECK(more_time(7.2 * 3600) == "8 more hours");
  CHECK(more_time(3600) == "60 more minutes");
  CHECK(more_time(61) == "2 more minutes");
  CHECK(more_time(5) == "1 more minute");
  CHECK(more_time(0) == "1 more minute");
}

TEST_CASE(
    "requests that were set count as the request and keep the earlier value as the original, also after a restart") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.shrink_allowed = true;
  rig.report(pod);
  rig.hours(14, 0.5);
  CHECK(state_of(rig.web()) == "lower");
  pod.requests_set = true;
  pod.cpu_request_cores = *rig.web().suggested_cores();
  pod.memory_request_bytes = *rig.web().suggested_bytes();
  rig.report(pod);
  rig.minute(0.5);
  CHECK(state_of(rig.web()) == "keep");
  CHECK(rig.web().original.cpu_cores == 2);
  CHECK(rig.web().freed.cpu_cores == doctest::Approx(0));
  CHECK(rig.web().resizes.set == 1);
  CHECK(rig.book->totals().resizes.given_up.cpu_cores == doctest::Approx(2 - pod.cpu_request_cores));
  CHECK(says(rig.web(), "2 cores before it was set"));
  // Without permission the suggestion is the original, not the value that was set.
  pod.shrink_allowed = false;
  rig.report(pod);
  rig.minute(0.5);
  CHECK(*rig.web().suggested_cores() == 2);
  CHECK(state_of(rig.web()) == "raise");
  rig.hours(0.5, 0.5);
  rig.start(rig.kept);
  rig.report(pod);
  CHECK(rig.web().original.cpu_cores == 2);
  // A request from another source becomes the original.
  pod.requests_set = false;
  rig.report(pod);
  CHECK(rig.web().original.cpu_cores == pod.cpu_request_cores);
}

TEST_CASE("deferred, infeasible and failed resizes are described in words, in a namespace together with their pods") {
  RequestRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  pod.resize = kube::PodResize::deferred;
  pod.resize_message = "Node didn't have enough resource: cpu";
  rig.report(pod);
  pod = RequestRig::pod_of("b");
  pod.resize = kube::PodResize::infeasible;
  pod.resize_message = "too large";
  rig.report(pod);
  rig.minute(0.5);
  CHECK(says(rig.web(), "1 waiting for room on the node (Deferred)"));
  CHECK(says(rig.web(), "1 with requests that the node can never provide (Infeasible)"));
  const auto reported = rig.provision({{"namespace", "shop"}});
  REQUIRE(reported);
  CHECK((*reported)["workloads"][0]["pod_uids"].size() == 2);
  CHECK((*reported)["workloads"][0]["resizes"]["deferred"] == 1);
  CHECK((*reported)["workloads"][0]["rule"].contains("cpu_cores"));
  CHECK((*reported)["workloads"][0]["lasting"].contains("memory_bytes"));
  CHECK((*rig.provision({{"namespace", "sho"}}))["workloads"].empty());
  const auto unit = rig.provision({{"workload", "nginx.service"}});
  REQUIRE_FALSE(unit);
  CHECK(unit.error().fix.find("systemd units have no requests") != std::string::npos);
}
