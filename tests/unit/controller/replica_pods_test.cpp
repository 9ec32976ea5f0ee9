// Replicas without agent reports: on nodes without an agent, or not yet on a node.
#include <doctest/doctest.h>

#include "controller/provision/replica_book.hpp"
#include "tests/unit/controller/watched_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

const std::string kShop = "shop/Deployment/web";

class HundredRequests final : public TrafficSource {
 public:
  Traffic traffic(const std::string&, const std::string&) const override { return {100, {}, {}}; }
};

kube::Pod replica(const std::string& uid, const std::string& node, bool may_shrink = false) {
  kube::Pod pod = WatchedRig::pod(uid, node);
  pod.owner = "Deployment/web";
  pod.shrink_allowed = may_shrink;
  return pod;
}

// Two reported pods that use half a core each and request one.
struct PodsRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  HundredRequests rates;
  ReplicaBook book{clock, rates, [](const std::string&) { return ReplicaOwner{"", ""}; }};
  std::map<std::string, RequestWorkload> workloads;

  PodsRig() {
    RequestWorkload& web = workloads[kShop];
    web.owner = "Deployment/web";
    web.pods = web.reporting = 2;
    web.request.cpu_cores = 1;
    web.used.cpu_cores = 1;
  }
  void elsewhere(const std::string& node, int count, bool may_shrink = false) {
    for (int i = 0; i < count; ++i) book.elsewhere(replica("uid-" + node + std::to_string(i), node, may_shrink));
  }
  void minutes(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(std::chrono::minutes(1));
      finish(book.tick(workloads));
    }
  }
  ReplicaState state() { return book.state_of(kShop, workloads.at(kShop)); }
  std::string last_sentence() { return replica_words(book, kShop, workloads.at(kShop)).back(); }
};

}  // namespace

TEST_CASE("replicas on nodes without agents serve requests too: their load is not assigned to reported ones") {
  PodsRig rig;
  rig.elsewhere("far", 2);
  rig.minutes(40);
  REQUIRE(rig.book.suggested(kShop));
  CHECK(rig.book.suggested(kShop)->core_s_per_request == doctest::Approx(0.02));  // four of half a core, 100 requests/s
  CHECK(rig.book.suggested(kShop)->replicas >= 4);
  CHECK(rig.last_sentence().find("; current: 4.") != std::string::npos);
  PodsRig mostly_unreported;  // less than half of the replicas are reported
  mostly_unreported.elsewhere("far", 3);
  mostly_unreported.minutes(40);
  CHECK(mostly_unreported.state() == ReplicaState::learning);
}

TEST_CASE("replicas that wait for a node count: no fewer than the owner's number are suggested") {
  PodsRig rig;
  rig.elsewhere("", 5);
  rig.minutes(40);
  REQUIRE(rig.book.suggested(kShop));
  CHECK(rig.book.suggested(kShop)->core_s_per_request == doctest::Approx(0.01));  // waiting replicas use no CPU
  CHECK(rig.book.suggested(kShop)->replicas == 7);
  CHECK(rig.state() == ReplicaState::keep);
  CHECK(rig.last_sentence().find("wattle.dev/shrink") != std::string::npos);
  // Reported again, and then deleted.
  rig.elsewhere("", 5);
  rig.minutes(1);
  CHECK(rig.book.suggested(kShop)->replicas == 7);
  for (int i = 0; i < 4; ++i) rig.book.left("uid-" + std::to_string(i));
  rig.book.left("never seen");
  rig.minutes(40);
  CHECK(rig.book.suggested(kShop)->replicas == 3);
}

TEST_CASE("fewer replicas are suggested only if the unreported pods allow it too") {
  PodsRig rig;
  rig.workloads[kShop].shrink_allowed = true;
  rig.elsewhere("", 5);
  rig.minutes(40);
  CHECK(rig.state() == ReplicaState::keep);
  rig.elsewhere("", 5, true);
  rig.minutes(1);
  CHECK(rig.state() == ReplicaState::fewer);
}

TEST_CASE("pods on no node or on a node without an agent are elsewhere until they are bound to a known node") {
  WatchedRig rig;
  const auto &elsewhere = rig.seen.elsewhere, &bound = rig.seen.bound;
  rig.report(replica("here", "n1"));
  rig.report(replica("waits", ""));
  rig.report(replica("far", "n9"));
  CHECK(bound == std::vector<std::string>{"here"});
  CHECK(elsewhere == std::vector<std::string>{"waits", "far"});
  rig.report(replica("waits", "n2"));
  rig.greet("n9");
  CHECK(bound == std::vector<std::string>{"here", "waits", "far"});
  CHECK(elsewhere.size() == 2);
}
