// The nine actions in operation: a pod of a workload without a replica owner has all of them; others get the reason.
#include "controller/provision/replica_place.hpp"

#include <doctest/doctest.h>

#include "controller/provision/margin_teacher.hpp"
#include "provision/minute/choice.hpp"
#include "tests/unit/controller/request_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
namespace choice = models::provision;

namespace {

const std::string kShopWeb = "shop/Deployment/web";

class ShopTraffic final : public TrafficSource {
 public:
  Traffic traffic(const std::string& node, const std::string& name) const override {
    if (!node.empty() && name == "reports.service") return {7, 0.0, {}};
    return node.empty() && name == kShopWeb ? Traffic{rate_rps, late_ratio, {}} : Traffic{};
  }
  double rate_rps = 360, late_ratio = 0.001;
};

// Two pods of a Deployment at level limits. Their node reports their minutes; an API server and a Prometheus report the
// rest.
struct NineRig : RequestRig {
  ShopTraffic rates;
  ReplicaOwner owner{"", ""};
  ReplicaBook replicas{clock, rates, [this](const std::string&) { return owner; }};
  MarginTeacher teacher{TeacherMode::shadow, 1, nullptr, clock};
  std::uint64_t number = 0;
  bool api = true, suggests = true;

  NineRig() {
    report(pod_of("a"));
    report(pod_of("b"));
  }
  const ReplicaBook& suggested() { return suggests ? replicas : provisioning.replicas(); }
  ReplicaPlace place(const std::string& name) { return place_of(name, api, *book, suggested(), api); }
  void pass(int minutes, double cores) {
    for (int i = 0; i < minutes; ++i) {
      RequestRig::minute(cores);
      finish(replicas.tick(book->workloads()));
      ++number;
      for (const kube::Pod& pod : pods) node_reports(pod.uid, cores);
      node_reports("reports.service", 0.1);
    }
  }
  void node_reports(const std::string& name, double cores) {
    LimitMinute ended;
    ended.name = name;
    ended.number = number;
    ended.margin_ratio = ended.rule_margin_ratio = 0.1;
    ended.used_cores = cores;
    ended.granted_cores = 1.1 * cores;
    ended.memory_margin_ratio = choice::kRuleMemory;
    ended.memory_used_bytes = 1024 * kMebibyte;
    ended.memory_granted_bytes = 1178 * kMebibyte;
    const ReplicaPlace at = place(name);
    teacher.minute("n1", 4, ended, traffic_of(rates, "n1", name, at), at);
  }
  const SteeredService& service(const std::string& name) const { return teacher.services().at({"n1", name}); }
  wattle::SortedJson reported(const std::string& what, const Arguments& arguments = {}) {
    config.teacher = TeacherMode::shadow;
    auto body = finished(document(parts(*book, suggested(), teacher), what, arguments));
    REQUIRE(body);
    return wattle::SortedJson::parse(*body);
  }
};

}  // namespace

TEST_CASE("a pod of a workload without a replica owner has nine actions, and more replicas are only a suggestion") {
  NineRig rig;
  rig.pass(30, 1.8);
  REQUIRE(rig.replicas.suggested(kShopWeb));
  const std::size_t wanted = rig.replicas.suggested(kShopWeb)->replicas;
  REQUIRE(wanted > 2);
  const SteeredService& pod = rig.service("a");
  CHECK(pod.replicas.workload == kShopWeb);
  CHECK(pod.replicas.now == 2);
  CHECK(pod.replicas.wanted == wanted);
  CHECK(pod.replicas.withheld.empty());
  CHECK(pod.rate_rps == 180);  // half of the workload's rate
  CHECK(pod.known);
  CHECK(action_word(pod.action) == "replicas_up");
  // The node does not get the replica action.
  CHECK(pod.applied / choice::kDirections != static_cast<std::size_t>(choice::Lever::replicas));
  CHECK(pod.wanted_margin == doctest::Approx(0.1));
  const auto suggested = rig.teacher.replicas();
  REQUIRE(suggested.size() == 1);
  CHECK(suggested.at(kShopWeb).pods == 2);
  CHECK(suggested.at(kShopWeb).more == 2);
  CHECK(suggested.at(kShopWeb).suggested() == 3);
  const auto web = rig.reported("provision", {{"workload", "web"}})["workloads"][0];
  CHECK(web["replicas"]["teacher"]["suggested"] == 3);
  CHECK(web["why"].dump().find("The teacher suggests 3 replicas") != std::string::npos);
  const auto margins = rig.reported("margins");
  for (const auto& row : margins["services"].items()) {
    const bool pods = row.value()["service"] != "reports.service";
    CHECK(row.value()["replicas"].is_null() != pods);
    CHECK(row.value()["replicas_withheld"].is_null() == pods);
    CHECK(row.value()["workload"].is_null() != pods);
  }
}

TEST_CASE("a known or possible owning autoscaler is named, and the other actions remain") {
  NineRig rig;
  rig.owner.by = "HorizontalPodAutoscaler shop/web";
  rig.pass(30, 1.8);
  CHECK_FALSE(rig.service("a").replicas.wanted);
  CHECK(rig.service("a").replicas.withheld == "HorizontalPodAutoscaler shop/web owns the number");
  CHECK(rig.service("a").action / choice::kDirections != static_cast<std::size_t>(choice::Lever::replicas));
  CHECK(rig.teacher.replicas().empty());
  CHECK(rig.reported("provision", {{"workload", "web"}})["workloads"][0]["replicas"]["teacher"].is_null());
  CHECK(rig.reported("margins")["services"].dump().find("HorizontalPodAutoscaler shop/web owns the number") !=
        std::string::npos);
  rig.owner = {std::nullopt, "the list is refused"};
  rig.pass(1, 1.8);
  CHECK(rig.service("a").replicas.withheld.find("the list is refused") != std::string::npos);
  rig.owner = {"", ""};
  rig.pass(30, 1.8);
  CHECK(rig.service("a").replicas.wanted);
}

TEST_CASE("without an API server or a suggestion of replicas, CPU and memory remain, and the document says why") {
  NineRig rig;
  rig.pass(30, 1.8);
  rig.suggests = false;
  rig.pass(1, 1.8);
  CHECK_FALSE(rig.service("a").replicas.wanted);
  CHECK(rig.service("a").replicas.withheld.find("provisioning.replicas") != std::string::npos);
  rig.api = false;
  rig.pass(1, 1.8);
  CHECK(rig.service("reports.service").replicas.withheld.find("kubernetes.watch") != std::string::npos);
  CHECK(rig.reported("margins")["replicas_withheld"].get<std::string>().find("kubernetes.watch") != std::string::npos);
  CHECK(rig.service("reports.service").rate_rps == 7);
}

TEST_CASE("fewer replicas are suggested down to the need of the requests; a manual change of replicas is the action") {
  NineRig rig;
  for (const char* uid : {"a", "b"}) {
    kube::Pod pod = RequestRig::pod_of(uid);
    pod.shrink_allowed = true;
    rig.report(pod);
  }
  rig.rates.rate_rps = 10;
  rig.pass(45, 0.05);
  REQUIRE(rig.replicas.suggested(kShopWeb));
  CHECK(rig.replicas.suggested(kShopWeb)->replicas == 1);
  CHECK(action_word(rig.service("a").action) == "replicas_down");
  CHECK(rig.teacher.replicas().at(kShopWeb).suggested() == 1);
  // A single replica is the minimum.
  rig.report_gone("b");
  finish(rig.book->tick(rig.state));
  rig.pass(3, 0.1);
  CHECK(rig.service("a").replicas.now == 1);
  CHECK(action_word(rig.service("a").action) != "replicas_down");
}
