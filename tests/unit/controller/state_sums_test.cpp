// Energy of workloads and nodes in the state, compared with the sums of their records.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "controller/state/cluster_state.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

MonoTime sums_at_s(std::uint64_t s) { return mono_from_ns(static_cast<std::int64_t>(s) * kSecondNs); }

// Reference sums in microjoules: shown records begin and end workloads, late records only add to running workloads, and
// live copies add nothing.
struct PlainSums {
  std::uint64_t node_uj = 0;
  std::map<std::string, std::uint64_t> workloads_uj;

  void take(const Record& record, Turn turn, bool ahead) {
    if (turn == Turn::late && ahead) return;
    if (!ahead) node_uj += *record.node.energy_uj;
    std::set<std::string> running;
    for (const WorkloadValues& values : record.workloads) {
      if (turn != Turn::late) workloads_uj.try_emplace(values.name, 0);
      if (!values.ended) running.insert(values.name);
      const auto known = workloads_uj.find(values.name);
      if (!ahead && known != workloads_uj.end()) known->second += values.energy_uj.value_or(0);
    }
    if (turn == Turn::late) return;
    for (const WorkloadValues& values : record.workloads)
      if (!running.contains(values.name)) workloads_uj.erase(values.name);
  }
};

// Lists names in any order, some twice (two roots), some with their last values.
Record any_record(std::uint64_t seq) {
  Record record = record_at(seq);
  record.partial = true;  // a workload that is not listed is at rest
  record.node.energy_uj = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const auto count = *rc::gen::inRange<std::size_t>(0, 6);
  for (std::size_t i = 0; i < count; ++i) {
    WorkloadValues values = pod_values("p" + std::to_string(*rc::gen::inRange(0, 4)), 10);
    values.energy_uj = *rc::gen::element<std::optional<std::uint64_t>>(std::nullopt, 0, 1, 123'456);
    values.ended = *rc::gen::inRange(0, 4) == 0;
    record.workloads.push_back(values);
  }
  return record;
}

}  // namespace

TEST_CASE("each record's energy counts once per running workload, whatever ends, repeats, or arrives early or late") {
  CHECK(rc::check([] {
    ClusterState state{30s};
    state.greet(hello_of("n1"));
    PlainSums plain;
    std::map<std::uint64_t, Record> ahead_of;
    const auto records = *rc::gen::inRange<std::uint64_t>(1, 40);
    for (std::uint64_t seq = 1; seq <= records; ++seq) {
      if (*rc::gen::inRange(0, 3) == 0) {
        const auto ahead = seq + *rc::gen::inRange<std::uint64_t>(0, 4);
        const Record& live = ahead_of.try_emplace(ahead, any_record(ahead)).first->second;
        plain.take(live, state.apply("n1", live, sums_at_s(2000 + seq), true).turn, true);
      }
      const Record own = ahead_of.contains(seq) ? ahead_of.at(seq) : any_record(seq);
      plain.take(own, state.apply("n1", own, sums_at_s(2000 + seq)).turn, false);
      const Node& node = *state.node("n1");
      RC_ASSERT(std::abs(node.energy_j.value_or(0) - static_cast<double>(plain.node_uj) * 1e-6) < 1e-6);
      RC_ASSERT(node.workloads.size() == plain.workloads_uj.size());
      for (const auto& [name, sum_uj] : plain.workloads_uj) {
        const auto known = node.workloads.find(name);
        RC_ASSERT(known != node.workloads.end());
        RC_ASSERT(std::abs(known->second.energy_j.value_or(0) - static_cast<double>(sum_uj) * 1e-6) < 1e-6);
      }
    }
  }));
}

TEST_CASE("a workload that starts and ends within a record takes the room of one new name") {
  ClusterState state{30s};
  state.greet(hello_of("n1"));
  Record record = record_at(1);
  state.fold("n1", record, sums_at_s(1001));  // the room depends on this time
  state.apply("n1", record, sums_at_s(1001));
  const auto room = [&] {
    NewNameLimit new_names = state.node("n1")->new_names;
    return new_names.room(sums_at_s(1001));
  };
  const std::size_t before = room();
  record = record_at(2);
  record.workloads = {pod_values("short", 10), pod_values("short", 10)};
  for (WorkloadValues& root : record.workloads) root.ended = true;
  state.apply("n1", record, sums_at_s(1001));
  CHECK(state.node("n1")->workloads.empty());
  CHECK(room() + 1 == before);
}

TEST_CASE("a retired node is unknown, and one that returns under its name starts at zero joules") {
  ClusterState state{30s};
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    const auto second = static_cast<std::uint64_t>(1000 + round * 10);
    // A long name is on the heap, so its address does not outlive the node.
    const std::string name = "worker-of-a-long-name-that-is-on-the-heap-" + std::to_string(round % 2);
    state.greet(hello_of(name));
    state.greet(hello_of("stays"));
    state.apply(name, record_at(second), sums_at_s(second));
    state.apply("stays", record_at(second), sums_at_s(second));
    REQUIRE(state.node(name) != nullptr);
    CHECK(state.node(name) == &state.nodes().at(name));
    CHECK(*state.node(name)->energy_j == doctest::Approx(100));
    state.adopt(name, nullptr);
    state.disconnect(name);
    state.expire(sums_at_s(second + 1));
    CHECK(state.node(name) == nullptr);
    CHECK(state.node_view(name) == nullptr);
    CHECK(state.node("stays") == &state.nodes().at("stays"));
    CHECK(*state.node("stays")->energy_j == doctest::Approx(100 * (round + 1)));
  }
}
