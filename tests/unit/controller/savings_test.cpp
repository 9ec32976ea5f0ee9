// The savings of a controller: which nodes could sleep and why the others could not, what changes would free, and the
// document and metrics.
#include "controller/web/savings.hpp"

#include <doctest/doctest.h>

#include "controller/kube/pod_reconciler.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/controller/request_rig.hpp"

namespace wattle::controller {
namespace {

using test::RequestRig;

constexpr double kGiB = 1 << 30;

// Six nodes of 8 cores, with pods that an API server describes. Each minute a pod of n1 uses half a core and 256 MiB.
struct SavingsRig : RequestRig, private PodSink {
  PodReconciler join{state, *decider, shims, *this, clock};
  void on_bound(const kube::Pod& pod) override { book->described(pod); }
  void run(const std::string& uid, const std::string& node, double cores, const std::string& owner = "Deployment/web") {
    kube::Pod pod = pod_of(uid, owner);
    pod.node_name = node;
    pod.cpu_request_cores = cores;
    pod.memory_request_bytes = 0.5 * kGiB;
    pod.daemonset = owner.starts_with("DaemonSet/");
    join.take({}, {{uid, std::make_shared<const kube::Pod>(pod), true}});
    if (node == "n1") pods.push_back(pod);
  }
  // Both nodes report; the book learns from n1.
  void report_both() {
    minute(0.5);
    Record record = test::record_at(seq);
    record.mono_ns = to_ns(clock.mono());
    state.apply("n2", record, clock.mono());
  }
  wattle::SortedJson savings(const Arguments& arguments = {}) {
    auto body = finished(document(parts(*book, provisioning.replicas(), provisioning.margins()), "savings", arguments));
    return wattle::SortedJson::parse(body.value());
  }
  double running_cores(const std::string& uid) const {
    const placement::ClusterModel& model = decider->engine().cluster_model();
    return model.running(model.pods().find(uid)).value().request.cpu_cores;
  }
  static wattle::SortedJson lever(const wattle::SortedJson& document, const std::string& name) {
    for (const auto& each : document.at("levers"))
      if (each.at("lever") == name) return each;
    return nullptr;
  }
};

TEST_CASE("a node with only DaemonSet pods could sleep; the others are listed by their reason") {
  SavingsRig rig;
  rig.run("a", "n1", 2);
  rig.run("ds", "n2", 0.1, "DaemonSet/proxy");
  rig.report_both();
  const auto sleep = SavingsRig::lever(rig.savings(), "sleep");
  CHECK(sleep.at("nodes") == 1);
  REQUIRE(sleep.at("items").size() == 1);
  CHECK(sleep.at("items")[0].at("name") == "n2");
  CHECK(sleep.at("saved_w") == sleep.at("items")[0].at("saved_w"));
  CHECK(sleep.at("saved_w").get<double>() > 0);
  CHECK(sleep.at("saved_low_w").is_null());
  CHECK(sleep.at("no_interval") == "how much the pods change is unknown before two days of telemetry");
  CHECK(sleep.at("text") == "1 node without pods could sleep at 3 W each (projection: sleep.mode is off)");
  CHECK(sleep.at("command") == "sleep.mode: recommend in the controller's configuration");
  CHECK(sleep.at("kept") == wattle::SortedJson::array({{{"why", "it has pods"}, {"nodes", 1}, {"first", {"n1"}}}}));
}

TEST_CASE("requests of twelve times the need keep a second node awake, and the change that frees it is listed") {
  SavingsRig rig;
  rig.run("a", "n1", 6);
  rig.run("b", "n2", 6, "Deployment/db");
  for (int i = 0; i < 13 * 60; ++i) rig.report_both();
  const auto document = rig.savings();
  const auto requests = SavingsRig::lever(document, "requests");
  CHECK(requests.at("nodes") == 1);
  CHECK(requests.at("saved_w").get<double>() > 0);
  REQUIRE(requests.at("items").size() == 1);  // db's node reports no usage
  const auto& item = requests.at("items")[0];
  CHECK(item.at("name") == "shop/Deployment/web");
  CHECK(item.at("nodes") == 1);
  CHECK(item.at("command") == "wattle savings --patch shop/Deployment/web");
  CHECK(item.at("text").get<std::string>().find("only by its template") != std::string::npos);
  CHECK(requests.at("measured").is_null());
  CHECK(document.at("levers")[0].at("lever") == "requests");
  CHECK(document.at("sum").at("saved_w").get<double>() >= requests.at("saved_w").get<double>());
  CHECK(document.at("sum").at("saved_w").get<double>() <= document.at("power_w").get<double>());
}

TEST_CASE("requests that were lowered since are shown as measured") {
  SavingsRig rig;
  kube::Pod pod = RequestRig::pod_of("a");
  rig.report(pod);
  rig.report_both();
  pod.requests_set = true;
  pod.cpu_request_cores = 0.5;
  rig.report(pod);
  rig.report_both();
  const auto requests = SavingsRig::lever(rig.savings(), "requests");
  const auto measured = requests.at("measured").get<std::string>();
  CAPTURE(measured);
  CHECK(measured.starts_with(
      "1 pod has requests set by Wattle and gave up 1.500 cores, 0.00 GiB, a share of the nodes "));
  CHECK(measured.find(" idles at 0.0 W") == std::string::npos);
}

TEST_CASE("after two days of telemetry each known saving has an interval with its figure") {
  SavingsRig rig;
  rig.run("a", "n1", 6);
  rig.run("b", "n2", 6, "Deployment/db");
  const auto with_interval = [&] {
    std::size_t known = 0;
    const auto document = rig.savings();
    for (const auto& each : document.at("levers")) {
      const bool stated = each.at("no_interval").is_string();
      CHECK(stated == each.at("saved_low_w").is_null());
      if (each.at("lever") == "placement" || stated) continue;
      ++known;
      CHECK(each.at("saved_low_w").get<double>() <= each.at("saved_w").get<double>());
      CHECK(each.at("saved_w").get<double>() <= each.at("saved_high_w").get<double>());
      CHECK(each.at("saved_low_w").get<double>() < each.at("saved_high_w").get<double>());
    }
    return known;
  };
  for (std::size_t hour = 0; hour < placement::kLeastHours + 2; ++hour) {
    if (hour + 2 < placement::kLeastHours) CHECK(with_interval() == 0);
    for (int minute = 0; minute < 60; ++minute) {
      rig.report_both();
      finish(rig.series.sample(rig.parts()));
    }
  }
  CHECK(with_interval() == 2);  // of sleep and requests; a sleep plan and replicas are off
  const std::string metrics =
      finished(metrics_text(rig.parts(*rig.book, rig.provisioning.replicas(), rig.provisioning.margins()))).value();
  for (const char* bound : {"mean", "low", "high"})
    CHECK(metrics.find("{lever=\"requests\",in_force=\"no\",bound=\"" + std::string(bound) + "\"}") !=
          std::string::npos);
}

TEST_CASE("an unknown saving has a reason and no sample, and is listed last") {
  SavingsRig rig;
  rig.report_both();
  const auto document = rig.savings();
  CHECK(document.at("levers").size() == 5);
  CHECK(document.at("levers")[4].at("saved_w").is_null());
  CHECK(SavingsRig::lever(document, "drain").at("text") == "unknown: sleep.mode is off");
  const auto requests = SavingsRig::lever(document, "requests");
  CHECK(requests.at("saved_w").is_null());
  CHECK(requests.at("text").get<std::string>().find("kubernetes.watch") != std::string::npos);
  const auto replicas = SavingsRig::lever(document, "replicas");
  CHECK(replicas.at("text").get<std::string>().find("provisioning.replicas") != std::string::npos);
  const std::string metrics =
      finished(metrics_text(rig.parts(*rig.book, rig.provisioning.replicas(), rig.provisioning.margins()))).value();
  CHECK(metrics.find("wattle_controller_available_saving_watts{lever=\"sleep\",in_force=\"no\",bound=\"mean\"}") !=
        std::string::npos);
  CHECK(metrics.find("wattle_controller_available_saving_watts{lever=\"replicas\"") == std::string::npos);
}

TEST_CASE("the list of savings and the idle line have the same nodes and watts") {
  SavingsRig rig;
  rig.run("ds", "n2", 0.1, "DaemonSet/proxy");
  rig.report_both();
  const auto sleep = SavingsRig::lever(rig.savings(), "sleep");
  const auto idle = rig.get("status").value().at("idle").at("sleeping");
  CHECK(idle.at("nodes") == sleep.at("nodes"));
  CHECK(idle.at("power_w") == sleep.at("saved_w"));
  CHECK(idle.at("assumption").get<std::string>().find("(projection)") != std::string::npos);
}

TEST_CASE("workloads that are too new to lower are counted, and no command is shown before there is a change") {
  SavingsRig rig;
  rig.run("a", "n1", 6);
  rig.report_both();
  const auto requests = SavingsRig::lever(rig.savings(), "requests");
  CHECK(requests.at("text") ==
        "no workload has a suggested change; 1 workload too new to lower: less than half a day of telemetry");
  CHECK(requests.at("command").is_null());
}

TEST_CASE("the limit of items is validated, and omitted items are counted") {
  SavingsRig rig;
  rig.report_both();
  CHECK(SavingsRig::lever(rig.savings({{"limit", "1"}}), "sleep").at("more") == 1);
  const auto bad = finished(document(rig.parts(), "savings", {{"limit", "none"}}));
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == Errc::malformed);
}

TEST_CASE("the cluster model counts a pod's request as the API server describes it after a resize") {
  SavingsRig rig;
  rig.run("a", "n1", 6);
  rig.report_both();
  CHECK(rig.running_cores("a") == 6);
  rig.run("a", "n1", 1.5);
  CHECK(rig.running_cores("a") == 1.5);
  CHECK(rig.state.node_view("n1")->requested.cpu_cores == 1.5);
}

}  // namespace
}  // namespace wattle::controller
