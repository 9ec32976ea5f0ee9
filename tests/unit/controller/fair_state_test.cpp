// One agent's effect on the state: work is bounded by what the agent reports, and folded workloads lose no energy.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>
#include <set>

#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

MonoTime fair_at_s(std::int64_t s) { return mono_from_ns(s * kSecondNs); }

placement::PodSpec spec(const std::string& uid, double cores, double bytes = 1e9) {
  placement::PodSpec pod;
  pod.uid = uid;
  pod.app = "web";
  pod.request = {cores, bytes};
  return pod;
}

Record record_of(std::uint64_t seq, std::size_t first, std::size_t pods) {
  Record record = record_at(seq);
  for (std::size_t i = first; i < first + pods; ++i)
    record.workloads.push_back(pod_values("pod-" + std::to_string(i), 1000 + i));
  return record;
}

std::uint64_t joules_of(const Record& record) {
  return std::accumulate(
      record.workloads.begin(), record.workloads.end(), std::uint64_t{0},
      [](std::uint64_t sum, const WorkloadValues& values) { return sum + values.energy_uj.value_or(0); });
}

// Steps of applying a record with so many new pods.
std::uint64_t steps_for(std::size_t pods) {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  const RecordNews news = state.apply("n1", record_of(1, 0, pods), fair_at_s(1));
  REQUIRE(news.appeared.size() == pods);
  for (const std::string& uid : news.appeared) state.pods().bind(uid, "n1", false, fair_at_s(1));
  CHECK(state.node_view("n1")->pods == pods);
  return state.steps();
}

}  // namespace

TEST_CASE("binding a pod looks at that pod, not at all pods of its node") {
  const std::uint64_t few = steps_for(250), many = steps_for(2000);
  CHECK(many <= 8 * few + 100);
  CHECK(many <= 2000 * 8);
}

TEST_CASE("an interval of many parts is scanned once, not once per part") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  constexpr std::size_t kParts = 100;
  for (std::size_t part = 0; part < kParts; ++part) {
    Record record = record_of(1 + part, part * 20, 20);
    record.part = part;
    record.parts = kParts;
    const RecordNews news = state.apply("n1", record, fair_at_s(1));
    CHECK(news.appeared.size() >= (part + 1 < kParts ? 20 : 0));
    for (const std::string& uid : news.appeared) state.pods().bind(uid, "n1", false, fair_at_s(1));
  }
  CHECK(state.node("n1")->pods.size() == 20 * kParts);
  CHECK(state.steps() <= 20 * kParts * 10);
}

TEST_CASE("sums of a node's pods equal the sums over its pods to the last bit, whatever starts and ends") {
  CHECK(rc::check("sums", [] {
    ClusterState state(30s);
    state.greet(hello_of("n1"));
    state.greet(hello_of("n2"));
    for (int i = 0; i < 120; ++i) {
      const std::string uid = "p" + std::to_string(*rc::gen::inRange(0, 12));
      const std::string node = *rc::gen::inRange(0, 2) == 0 ? "n1" : "n2";
      const double cores = *rc::gen::inRange(1, 64) * 0.1;
      switch (*rc::gen::inRange(0, 8)) {
        case 0:
          state.pods().ask(spec(uid, cores), 1, true, fair_at_s(i));
          break;
        case 1:
          state.pods().expect_on(uid, node, fair_at_s(i));
          break;
        case 2:
          state.pods().bind(uid, node, false, fair_at_s(i));
          break;
        case 3:
          state.pods().unbind(uid, node);
          break;
        case 4:
          state.pods().describe(spec(uid, cores, 3e8));
          break;
        case 5:
          state.pods().drop_expected(uid);
          break;
        case 6:
          state.pods().leave(uid);
          break;
        default:
          state.expire(fair_at_s(i));
      }
      for (const char* name : {"n1", "n2"}) {
        const Node& here = *state.node(name);
        const placement::NodeView& seen = *state.node_view(name);
        const auto tenths = [&](const std::set<std::string>& uids, auto value) {
          std::int64_t sum = 0;
          for (const std::string& pod : uids) sum += std::llround(value(state.pod(pod)->spec) * 1e9);
          return static_cast<double>(sum) / 1e9;
        };
        const auto cores_of = [](const placement::PodSpec& pod) { return pod.request.cpu_cores; };
        RC_ASSERT(seen.pods == here.pods.size());
        RC_ASSERT(seen.requested.cpu_cores == tenths(here.pods, cores_of));
        RC_ASSERT(seen.in_flight == here.in_flight.size());
        RC_ASSERT(seen.in_flight_request.cpu_cores == tenths(here.in_flight, cores_of));
        RC_ASSERT(seen.unsettled == here.unsettled.size());
        std::set<std::string> staying, leaving;
        for (const std::string& pod : here.pods) {
          if (state.pod(pod)->leaving && !here.unsettled.contains(pod)) leaving.insert(pod);
          if (!state.pod(pod)->leaving && here.unsettled.contains(pod)) staying.insert(pod);
        }
        const auto demand_of = [](const placement::PodSpec& pod) { return placement::demand_cores(pod); };
        RC_ASSERT(seen.unsettled_cpu_cores == tenths(staying, demand_of));
        RC_ASSERT(seen.leaving_cpu_cores == tenths(leaving, demand_of));
      }
    }
  }));
}

TEST_CASE("workloads above a node's share are folded into one, and no microjoule is lost") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  Record record = record_of(1, 0, 10'000);
  for (std::size_t i = 0; i < record.workloads.size(); ++i) record.workloads[i].energy_uj = 1 + i * 7919;
  const std::uint64_t before = joules_of(record);
  CHECK(state.fold("n1", record, fair_at_s(1)) == 10'000 - (kMaxWorkloads - 1));
  CHECK(record.workloads.size() == kMaxWorkloads);
  CHECK(record.workloads.back().name == kOthers);
  CHECK(joules_of(record) == before);
  state.apply("n1", record, fair_at_s(1));
  CHECK(state.node("n1")->workloads.size() == kMaxWorkloads);
  // The same record again: workloads that have a place keep it.
  Record again = record_of(2, 0, 10'000);
  CHECK(state.fold("n1", again, fair_at_s(2)) == 10'000 - (kMaxWorkloads - 1));
  CHECK(again.workloads.front().name == "pod-0");
  state.apply("n1", again, fair_at_s(2));
  CHECK(state.node("n1")->workloads.size() == kMaxWorkloads);
}

TEST_CASE("an endless sequence of new names is folded too, because each would stay in the ledger") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  std::set<std::string> names;
  std::uint64_t reported = 0, kept = 0;
  constexpr std::size_t kEach = 500, kRecords = 200;
  for (std::size_t i = 0; i < kRecords; ++i) {
    Record record = record_of(1 + i, i * kEach, kEach);
    for (WorkloadValues& values : record.workloads) values.ended = true;
    reported += joules_of(record);
    state.fold("n1", record, fair_at_s(static_cast<std::int64_t>(i)));
    kept += joules_of(record);
    for (const WorkloadValues& values : record.workloads) names.insert(values.name);
    state.apply("n1", record, fair_at_s(static_cast<std::int64_t>(i)));
  }
  CHECK(kept == reported);
  CHECK(names.size() <= kMaxWorkloads + kRecords * static_cast<std::size_t>(NewNameLimit::kNewPerS) + 1);
  CHECK(names.size() >= kMaxWorkloads);
}

TEST_CASE("an endless sequence of new containers is counted in their pod, because each would stay in the ledger") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  std::set<std::string> ids;
  constexpr std::size_t kEach = 60, kRecords = 400;
  std::uint64_t next = 0, pod_uj = 0;
  for (std::size_t i = 0; i < kRecords; ++i) {
    Record record = record_of(1 + i, 0, 1);
    WorkloadValues& pod = record.workloads[0];
    pod.energy_uj = 1000;
    for (std::size_t c = 0; c < kEach; ++c) pod.containers.push_back({std::to_string(100000000000 + next++), 1, 10});
    pod_uj += 1000;
    const MonoTime at = fair_at_s(static_cast<std::int64_t>(i));
    state.fold("n1", record, at);
    for (const ContainerValues& container : pod.containers) ids.insert(container.id);
    state.apply("n1", record, at);
  }
  CHECK(ids.size() <= kMaxWorkloads + kRecords * static_cast<std::size_t>(NewNameLimit::kNewPerS) + 1);
  CHECK(ids.size() >= kMaxWorkloads);
  const Workload& pod = state.node("n1")->workloads.at("pod-0");
  CHECK(pod.containers.size() <= kMaxContainers);
  std::uint64_t containers_uj = 0;
  for (const ContainerSum& container : pod.containers) containers_uj += container.energy_uj;
  CHECK(static_cast<double>(containers_uj) * 1e-6 <= *pod.energy_j);
  CHECK(*pod.energy_j == doctest::Approx(static_cast<double>(pod_uj) * 1e-6));
}

TEST_CASE("an ordinary node is not folded over a day of pods that start and end") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  std::uint64_t seq = 0;
  for (std::int64_t minute = 0; minute < 24 * 60; ++minute) {
    Record record = record_of(++seq, static_cast<std::size_t>(minute) * 20, 100);  // 20 new ones a minute
    CHECK(state.fold("n1", record, fair_at_s(60 * minute)) == 0);
    state.apply("n1", record, fair_at_s(60 * minute));
  }
}

TEST_CASE("records from an hour ago that name workloads that ended since are not folded") {
  ClusterState state(30s);
  state.greet(hello_of("n1"));
  Record now = record_of(4000, 0, 10);
  state.apply("n1", now, fair_at_s(1), true);  // ahead of its turn
  for (std::uint64_t seq = 1; seq < 3600; ++seq) {
    Record late = record_of(seq, 1000, 50);
    CHECK(state.fold("n1", late, fair_at_s(2)) == 0);
    state.apply("n1", late, fair_at_s(2));
  }
}

TEST_CASE("the thousandth pod that an agent reports is bound, but not the first one above the node's share") {
  DeciderRig rig(ModeSetting{Mode::live});
  rig.begin();
  for (std::size_t i = 0; i < kMaxPods + 5; ++i)
    rig.decider->placements().placed("pod-" + std::to_string(i), "n1", false);
  CHECK(rig.state.node("n1")->pods.size() == kMaxPods);
  CHECK(rig.decider->placements().bound("pod-x", "n1", true));  // the API server is trusted
  CHECK(rig.decider->placements().placed("pod-y", "n2", false));
}

TEST_CASE("the number of asked pods that never appeared is bounded, and the newest are kept") {
  ClusterState state(30s);
  for (std::size_t i = 0; i < kMaxAsked + 10; ++i)
    state.pods().ask(spec("p" + std::to_string(i), 1), i, false, fair_at_s(static_cast<std::int64_t>(i / 100)));
  CHECK(state.pods().all().size() == kMaxAsked);
  CHECK(state.pod("p0") == nullptr);
  CHECK(state.pod("p" + std::to_string(kMaxAsked)) != nullptr);
}

TEST_CASE("outcomes of many pods of one node are collected in one scan of the record") {
  DeciderRig rig(ModeSetting{Mode::live});
  rig.begin();
  std::vector<std::string> uids;
  for (int i = 0; i < 50; ++i) {
    uids.push_back("p" + std::to_string(i));
    rig.decider->asks().ask(ask_for(uids.back(), {"n1", "n2"}));
  }
  rig.tick(uids);
  for (int i = 0; i < 5; ++i) rig.tick(uids);
  CHECK(rig.decider->figures().outcomes == 50);
}
