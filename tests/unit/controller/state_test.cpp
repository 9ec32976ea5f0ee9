#include "controller/state/cluster_state.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

MonoTime at_s(std::int64_t s) { return mono_from_ns(s * kSecondNs); }

placement::PodSpec spec(const std::string& uid, double cores = 2) {
  placement::PodSpec pod;
  pod.uid = uid;
  pod.app = "web";
  pod.request = {cores, 1e9};
  return pod;
}

struct StateRig {
  ClusterState state{30s};
  StateRig() {
    state.greet(hello_of("n1"));
    state.greet(hello_of("n2"));
  }
};

}  // namespace

TEST_CASE("a record gives watts, utilisation, latency and a sample of the power curve") {
  StateRig rig;
  Record record = record_at(1);
  record.probes.push_back({"default", 4.5, 9.0, 1.0, 0.0, 10});
  record.node.idle_energy_uj = 40'000'000;
  rig.state.apply("n1", record, at_s(1000));
  rig.state.apply("n1", record_at(2), at_s(1001));
  const Node& node = *rig.state.node("n1");
  CHECK(*node.power_w == doctest::Approx(100));
  CHECK(*node.energy_j == doctest::Approx(200));
  const placement::NodeView& view = *rig.state.node_view("n1");
  CHECK(view.curve.samples() == 2);
  CHECK(view.latency_ms.empty());  // the second record has no probes, so there is no value
  CHECK(*placement::cpu_utilisation(view) == doctest::Approx(0.5));
}

TEST_CASE("a node's throttled time is that of all its workloads in the last interval, in any number of parts") {
  StateRig rig;
  const auto throttled = [](std::uint64_t seq, std::uint64_t part, const std::string& uid, std::uint64_t us) {
    Record record = record_at(seq);
    record.part = part;
    record.parts = 2;
    record.workloads = {pod_values(uid, 100'000)};
    record.workloads[0].cpu_throttled_us = us;
    return record;
  };
  rig.state.apply("n1", throttled(1, 0, "p1", 300'000), at_s(1000));
  rig.state.apply("n1", throttled(2, 1, "p2", 200'000), at_s(1000));
  CHECK(rig.state.node_view("n1")->throttled_cores == doctest::Approx(0.5));
  rig.state.apply("n1", record_at(3), at_s(1001));
  CHECK(rig.state.node_view("n1")->throttled_cores == 0);
}

TEST_CASE("link and disk capacities come from the agent or a default, and are at least the observed maximum") {
  ClusterState state(30s);
  wire::Hello hello = hello_of("n1");
  state.greet(hello);
  CHECK(state.node_view("n1")->link_bytes_per_s == 125e6);
  CHECK(state.node_view("n1")->disk_bytes_per_s == 500e6);
  hello.link_bytes_per_s = 1.25e9;
  hello.disk_bytes_per_s = 3e9;
  state.greet(hello);
  Record record = record_at(1);
  record.node.net_tx_bytes_per_s = 2e9;
  record.node.disk_read_bytes_per_s = 1e9;
  state.apply("n1", record, at_s(1000));
  CHECK(state.node_view("n1")->link_bytes_per_s == 2e9);
  CHECK(state.node_view("n1")->disk_bytes_per_s == 3e9);
}

TEST_CASE("a node that reports nothing ages, and one that never reported has no age") {
  StateRig rig;
  rig.state.apply("n1", record_at(1), at_s(1000));
  const auto& view = rig.state.view(spec("p"), at_s(1007));
  CHECK(seconds(*view.nodes[0].telemetry_age) == doctest::Approx(7));
  CHECK(!view.nodes[1].telemetry_age);
}

TEST_CASE("a node's clock is mapped by the sample with the least delay, never into the future") {
  ClockMap clock;
  CHECK(clock.map(1 * kSecondNs, at_s(103)) == at_s(103));
  CHECK(clock.map(2 * kSecondNs, at_s(102)) == at_s(102));  // 2 s less delay
  CHECK(clock.map(3 * kSecondNs, at_s(110)) == at_s(103));  // arrived late: maps to its own time
}

TEST_CASE("a node that was suspended or paused is fresh again after its next Hello and records") {
  StateRig rig;
  rig.state.apply("n1", record_at(1), at_s(1000));
  // An hour later; the node's clock advanced two seconds.
  rig.state.greet(hello_of("n1"));
  rig.state.apply("n1", record_at(3), at_s(4600));
  CHECK(seconds(*rig.state.view(spec("p"), at_s(4600)).nodes[0].telemetry_age) == doctest::Approx(0));
}

TEST_CASE("pods that asked recently without an advised node are pending") {
  StateRig rig;
  rig.state.pods().ask(spec("advised"), 1, true, at_s(0));
  rig.state.pods().ask(spec("masked"), 2, false, at_s(0));
  CHECK(rig.state.view(spec("p"), at_s(1)).pending_pods == 1);
  CHECK(rig.state.view(spec("masked"), at_s(1)).pending_pods == 0);
  rig.state.expire(at_s(31));
  CHECK(rig.state.view(spec("p"), at_s(31)).pending_pods == 0);
  rig.state.pods().bind("masked", "n1", false, at_s(32));
  CHECK(rig.state.view(spec("p"), at_s(32)).pending_pods == 0);
}

TEST_CASE("records of an older boot do not make the current ones old") {
  StateRig rig;
  rig.state.greet(hello_of("n1", 2));
  Record spooled = record_at(9'000'000, 1);  // from before the reboot, with a high clock
  rig.state.apply("n1", spooled, at_s(1000));
  rig.state.apply("n1", record_at(1, 2), at_s(1000));
  CHECK(seconds(*rig.state.view(spec("p"), at_s(1001)).nodes[0].telemetry_age) == doctest::Approx(1));
}

TEST_CASE("a pod is bound to the node whose record shows it, with the request of its ask") {
  StateRig rig;
  rig.state.pods().ask(spec("p1"), 5, true, at_s(1));
  Record record = record_at(1);
  record.workloads = {pod_values("p1", 500'000), pod_values("p1", 250'000)};  // two containers, one pod
  const RecordNews news = rig.state.apply("n1", record, at_s(2));
  REQUIRE(news.appeared == std::vector<std::string>{"p1"});
  CHECK(rig.state.pods().bind("p1", "n1", false, at_s(2)));
  CHECK(!rig.state.pods().bind("p1", "n1", false, at_s(3)));
  const placement::NodeView& view = *rig.state.node_view("n1");
  CHECK(view.pods == 1);
  CHECK(view.requested.cpu_cores == doctest::Approx(2));
  CHECK(view.unsettled == 0);  // its usage is already in the record
  CHECK(*rig.state.node("n1")->workloads.at("p1").cpu_cores == doctest::Approx(0.75));
  CHECK(rig.state.view(spec("p2"), at_s(3)).nodes[0].same_app_pods == 1);
  placement::PodSpec elsewhere = spec("p3");  // with the same name and image
  elsewhere.pod_namespace = "another";
  CHECK(rig.state.view(elsewhere, at_s(3)).nodes[0].same_app_pods == 0);
}

TEST_CASE("a pod is removed when its cgroup ends, or after a long time without records of it") {
  StateRig rig;
  Record record = record_at(1);
  record.workloads = {pod_values("p1", 1)};
  rig.state.apply("n1", record, at_s(1));
  rig.state.pods().bind("p1", "n1", false, at_s(1));
  rig.state.pods().bind("p2", "n1", false, at_s(1));
  Record ended = record_at(2);
  ended.workloads = {pod_values("p1", 1)};
  ended.workloads[0].ended = true;
  CHECK(rig.state.apply("n1", ended, at_s(2)).gone == std::vector<std::string>{"p1"});
  CHECK(rig.state.pods().unbind("p1", "n1"));
  CHECK(rig.state.apply("n1", record_at(3), at_s(3)).gone.empty());
  CHECK(rig.state.apply("n1", record_at(20), at_s(20)).gone == std::vector<std::string>{"p2"});
}

TEST_CASE("a bound pod is unsettled until telemetry shows its usage") {
  StateRig rig;
  rig.state.pods().ask(spec("p1"), 1, true, at_s(1));
  rig.state.pods().bind("p1", "n1", false, at_s(1));
  CHECK(rig.state.node_view("n1")->unsettled == 1);
  CHECK(rig.state.node_view("n1")->unsettled_cpu_cores == doctest::Approx(placement::demand_cores(spec("p1"))));
  Record record = record_at(1);
  record.workloads = {pod_values("p1", 100'000)};
  rig.state.apply("n1", record, at_s(2));
  CHECK(rig.state.node_view("n1")->unsettled == 0);
}

TEST_CASE("in-flight pods are counted by UID until they are bound, or for 30 s") {
  StateRig rig;
  rig.state.pods().ask(spec("p1"), 1, true, at_s(0));
  rig.state.pods().ask(spec("p2"), 2, true, at_s(0));
  rig.state.pods().expect_on("p1", "n1", at_s(0));
  rig.state.pods().expect_on("p2", "n1", at_s(0));
  rig.state.pods().expect_on("p2", "n2", at_s(1));  // a new ask ends the earlier expectation
  CHECK(rig.state.node_view("n1")->in_flight == 1);
  CHECK(rig.state.node_view("n2")->in_flight_request.cpu_cores == doctest::Approx(2));
  rig.state.pods().bind("p2", "n1", false, at_s(2));
  CHECK(rig.state.node_view("n2")->in_flight == 0);
  rig.state.expire(at_s(29));
  CHECK(rig.state.node_view("n1")->in_flight == 1);
  rig.state.expire(at_s(30));
  CHECK(rig.state.node_view("n1")->in_flight == 0);
}

TEST_CASE("a record shown ahead of its turn stays shown while older records arrive, which only add to the sums") {
  StateRig rig;
  rig.state.apply("n1", record_at(1), at_s(1000));
  Record newest = record_at(5);
  newest.node.energy_uj = 300'000'000;
  newest.workloads.push_back(pod_values("p", 1'000'000));
  const RecordNews news = rig.state.apply("n1", newest, at_s(1010), true);
  CHECK(news.turn == Turn::ahead);
  CHECK(news.appeared == std::vector<std::string>{"p"});
  const Node& node = *rig.state.node("n1");
  CHECK(*node.power_w == doctest::Approx(300));
  CHECK(*node.energy_j == doctest::Approx(100));
  for (std::uint64_t seq = 2; seq <= 5; ++seq) {
    const RecordNews late = rig.state.apply("n1", seq == 5 ? newest : record_at(seq), at_s(1011));
    CHECK(late.turn == Turn::late);
    CHECK(late.again == (seq == 5));
    CHECK(*node.power_w == doctest::Approx(300));
    CHECK(node.workloads.contains("p"));
  }
  CHECK(*node.energy_j == doctest::Approx(100 * 4 + 300));
  CHECK(*node.workloads.at("p").energy_j == doctest::Approx(5));
  CHECK(node.ahead.empty());
  CHECK(rig.state.apply("n1", record_at(6), at_s(1012)).turn == Turn::its_own);
  CHECK(*node.power_w == doctest::Approx(100));
}

TEST_CASE("the sums count each record once and the newest is shown, whichever records arrive early") {
  CHECK(rc::check([](std::uint64_t records) {
    records = 1 + records % 40;
    ClusterState state{30s};
    state.greet(hello_of("n1"));
    std::uint64_t sum_uj = 0, shown = 0;
    const auto record_of = [](std::uint64_t seq) {
      Record record = record_at(seq);
      record.node.energy_uj = seq * 1'000'000;
      return record;
    };
    for (std::uint64_t seq = 1; seq <= records; ++seq) {
      const auto ahead = seq + *rc::gen::inRange<std::uint64_t>(0, 4);
      const MonoTime now = at_s(2000 + static_cast<std::int64_t>(seq));
      if (*rc::gen::arbitrary<bool>()) {
        state.apply("n1", record_of(ahead), now, true);
        shown = std::max(shown, ahead);
      }
      state.apply("n1", record_of(seq), now);
      shown = std::max(shown, seq);
      sum_uj += seq * 1'000'000;
      const Node& node = *state.node("n1");
      RC_ASSERT(std::abs(*node.energy_j - static_cast<double>(sum_uj) * 1e-6) < 1e-6);
      RC_ASSERT(std::abs(*node.power_w - static_cast<double>(shown)) < 1e-6);
    }
  }));
}

TEST_CASE("records of an earlier incarnation that arrive after a live one are summed and not shown") {
  StateRig rig;
  rig.state.apply("n1", record_at(1, 2), at_s(1000), true);
  const RecordNews news = rig.state.apply("n1", record_at(900, 1), at_s(1001));
  CHECK(news.turn == Turn::late);
  CHECK(news.again);
  CHECK(*rig.state.node("n1")->energy_j == doctest::Approx(100));
  CHECK(rig.state.node("n1")->record_incarnation == 2);
}

TEST_CASE("an agent that restarts with a lower incarnation is shown, although live values of a higher one never came") {
  StateRig rig;
  rig.state.greet(hello_of("n1", 900));
  rig.state.apply("n1", record_at(50, 900), at_s(1000), true);
  rig.state.greet(hello_of("n1", 7));
  CHECK(rig.state.apply("n1", record_at(1, 7), at_s(1100)).turn == Turn::its_own);
  CHECK(rig.state.node("n1")->sampled_at == at_s(1100));
  CHECK(rig.state.node("n1")->ahead.empty());
}

TEST_CASE("CPUs and memory that come and go change a node's capacity, unless the API server states it") {
  StateRig rig;
  Record record = record_at(1);
  record.node.cpu_cores = 12;
  record.node.memory_total_bytes = std::uint64_t{16} << 30;
  rig.state.apply("n1", record, at_s(1000));
  CHECK(rig.state.node_view("n1")->allocatable.cpu_cores == 12);
  CHECK(rig.state.node_view("n1")->allocatable.memory_bytes == 16.0 * (1 << 30));
  record = record_at(2);
  record.node.cpu_cores.reset();
  record.node.memory_total_bytes.reset();
  record.node.memory_used_bytes.reset();
  rig.state.apply("n1", record, at_s(1001));
  CHECK(rig.state.node_view("n1")->allocatable.cpu_cores == 12);
  auto facts = std::make_shared<kube::Node>();
  facts->name = "n1";
  facts->ready = true;
  facts->cpu_cores = 3.5;
  facts->memory_bytes = 1e9;
  rig.state.adopt("n1", facts);
  rig.state.apply("n1", record_at(3), at_s(1002));
  CHECK(rig.state.node_view("n1")->allocatable.cpu_cores == 3.5);
  CHECK(rig.state.node_view("n1")->allocatable.memory_bytes == 1e9);
}
