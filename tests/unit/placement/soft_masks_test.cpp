// soft_masks: shares of an owner's replicas and PreferNoSchedule taints, alone and in decisions.
#include "placement/worth/soft_masks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "placement/decide/board.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;
using testing::small_pod;

PodSpec soft_replica() {
  PodSpec pod = small_pod();
  pod.owner = "default/ReplicaSet/web-5d9";
  return pod;
}

std::vector<std::string_view> soft_masks_of(const ClusterView& view, const PodSpec& pod, const OwnerShare& share = {}) {
  std::vector<std::size_t> rows(view.nodes.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::vector<std::string_view> masked(rows.size());
  add_soft_masks(view, rows, pod, share, masked);
  return masked;
}

// Nodes of equal size in `zones` zones; each is feasible.
ClusterView level_cluster(std::size_t nodes, std::size_t zones) {
  ClusterView view;
  for (std::size_t i = 0; i < nodes; ++i) {
    view.nodes.push_back(healthy_node("n" + std::to_string(i), 64));
    if (zones > 0) view.nodes.back().zone = "z" + std::to_string(i % zones);
  }
  return view;
}

// Places pods one by one where policy `name` advises. Returns the replicas of each node.
std::vector<std::uint64_t> place_one_by_one(ClusterView view, std::size_t pods, const char* name,
                                            const DecideOptions& options = {}) {
  const auto policy = make_policy(name).value();
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < pods; ++i) {
    PodSpec pod = soft_replica();
    pod.uid = "uid-" + std::to_string(i);
    const PlacementDecision advice = decide(view, pod, names_of(view), {*policy}, options, i, random);
    REQUIRE(!advice.node.empty());
    const std::size_t row = advice.top ? *advice.top : i % view.nodes.size();
    NodeView& node = view.nodes[row];
    ++node.owner_pods;
    ++node.pods;
    node.requested.cpu_cores += pod.request.cpu_cores;
    node.requested.memory_bytes += pod.request.memory_bytes;
  }
  std::vector<std::uint64_t> replicas;
  for (const NodeView& node : view.nodes) replicas.push_back(node.owner_pods);
  return replicas;
}

}  // namespace

TEST_CASE("the replica cap is the share, at least one, and never all replicas if the share is below 1") {
  CHECK(replica_cap(0.5, 0) == 1);
  CHECK(replica_cap(0.5, 1) == 1);
  CHECK(replica_cap(0.5, 2) == 1);
  CHECK(replica_cap(0.5, 3) == 1);
  CHECK(replica_cap(0.5, 4) == 2);
  CHECK(replica_cap(0.5, 12) == 6);
  CHECK(replica_cap(0.1, 30) == 3);
  CHECK(replica_cap(1, 12) == 12);
  CHECK(replica_cap(-1, 12) == 1);
  CHECK(rc::check([] {
    const double share = *rc::gen::inRange(1, 1'000'000) / 1e6;
    const auto replicas = *rc::gen::inRange<std::uint64_t>(2, 1'000'000);
    const std::uint64_t cap = replica_cap(share, replicas);
    RC_ASSERT(cap >= 1 && cap < replicas);
    RC_ASSERT(cap == 1 || static_cast<double>(cap) <= share * static_cast<double>(replicas) + 1e-6);
  }));
}

TEST_CASE("a node and a zone at their share are masked with the reason, and others are not") {
  ClusterView view = level_cluster(4, 2);  // z0: n0, n2; z1: n1, n3
  view.nodes[0].owner_pods = 1;
  const auto by_zone = soft_masks_of(view, soft_replica());
  CHECK(by_zone[0] == "the zone already has its share of the owner's replicas");
  CHECK(by_zone[1].empty());
  CHECK(by_zone[2] == "the zone already has its share of the owner's replicas");
  CHECK(by_zone[3].empty());
  const auto by_node = soft_masks_of(view, soft_replica(), {0.5, 1});
  CHECK(by_node[0] == "the node already has its share of the owner's replicas");
  CHECK(by_node[2].empty());
  CHECK(soft_masks_of(view, soft_replica(), {1, 1})[0].empty());
  CHECK(soft_masks_of(view, small_pod())[0].empty());  // no owner
  PodSpec of_daemonset = soft_replica(), bound = soft_replica();
  of_daemonset.daemonset = true;
  bound.node_name = "n0";
  CHECK(soft_masks_of(view, of_daemonset)[0].empty());
  CHECK(soft_masks_of(view, bound)[0].empty());
}

TEST_CASE("if every node is above its share, those with the fewest replicas stay open") {
  ClusterView view = level_cluster(3, 0);
  view.nodes[0].owner_pods = 5;
  view.nodes[1].owner_pods = 2;
  view.nodes[2].owner_pods = 2;
  const auto masked = soft_masks_of(view, soft_replica(), {0.1, 0.1});
  CHECK_FALSE(masked[0].empty());
  CHECK(masked[1].empty());
  CHECK(masked[2].empty());
}

TEST_CASE("a PreferNoSchedule taint masks a node unless the pod tolerates it or no other node is feasible") {
  ClusterView view = level_cluster(2, 0);
  view.nodes[0].soft_taints = {"spare=yes"};
  CHECK(soft_masks_of(view, small_pod())[0] == "PreferNoSchedule taint that the pod does not tolerate");
  CHECK(soft_masks_of(view, small_pod())[1].empty());
  for (const char* toleration : {"*", "spare", "spare=yes"}) {
    PodSpec pod = small_pod();
    pod.tolerates = {toleration};
    CHECK(soft_masks_of(view, pod)[0].empty());
  }
  for (const char* toleration : {"spar", "spare=no", "other"}) {
    PodSpec pod = small_pod();
    pod.tolerates = {toleration};
    CHECK_FALSE(soft_masks_of(view, pod)[0].empty());
  }
  view.nodes[1].soft_taints = {"other=", "spare=yes"};
  CHECK(soft_masks_of(view, small_pod())[0].empty());  // one taint compared with two
  CHECK_FALSE(soft_masks_of(view, small_pod())[1].empty());
}

TEST_CASE("soft masks leave a feasible node, never admit an infeasible one, and do not depend on the order of nodes") {
  CHECK(rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 12);
    ClusterView view = level_cluster(count, 0);
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::vector<std::string_view> hard(count);
    for (std::size_t i = 0; i < count; ++i) {
      view.nodes[i].owner_pods = *rc::gen::inRange<std::uint64_t>(0, 6);
      view.nodes[i].zone = std::vector<std::string>{"", "a", "b", "c"}[*rc::gen::inRange<std::size_t>(0, 4)];
      if (*rc::gen::arbitrary<bool>()) view.nodes[i].soft_taints = {"spare="};
      if (*rc::gen::inRange(0, 4) == 0) hard[i] = "not ready";
    }
    const OwnerShare share{*rc::gen::inRange(1, 101) / 100.0, *rc::gen::inRange(1, 101) / 100.0};
    auto masked = hard;
    add_soft_masks(view, rows, soft_replica(), share, masked);
    const auto is_open = [](std::string_view reason) { return reason.empty(); };
    RC_ASSERT(std::any_of(hard.begin(), hard.end(), is_open) == std::any_of(masked.begin(), masked.end(), is_open));
    for (std::size_t i = 0; i < count; ++i)
      if (!hard[i].empty()) RC_ASSERT(masked[i] == hard[i]);

    const auto order = *rc::gen::exec([rows] {
      auto shuffled = rows;
      for (std::size_t i = shuffled.size(); i > 1; --i)
        std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
      return shuffled;
    });
    std::vector<std::string_view> other;
    for (const std::size_t row : order) other.push_back(hard[row]);
    add_soft_masks(view, order, soft_replica(), share, other);
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(other[i] == masked[order[i]]);
  }));
}

TEST_CASE("with two nodes or zones no policy gives one of them all replicas, or more than half plus one") {
  for (const char* name : {"dqn", "planner", "amortised"}) {
    CAPTURE(name);
    for (const std::size_t nodes : {2U, 3U, 5U, 8U}) {
      for (std::size_t pods = 2; pods <= 12; ++pods) {
        const auto replicas = place_one_by_one(level_cluster(nodes, 0), pods, name);
        const std::uint64_t most = *std::max_element(replicas.begin(), replicas.end());
        CHECK(most < pods);
        CHECK(most <= (pods + 1) / 2);
      }
      const auto replicas = place_one_by_one(level_cluster(nodes, 2), 12, name);
      std::uint64_t in_zone[2] = {0, 0};
      for (std::size_t i = 0; i < nodes; ++i) in_zone[i % 2] += replicas[i];
      CHECK(in_zone[0] == 6);
      CHECK(in_zone[1] == 6);
    }
  }
}

TEST_CASE("a decision explains a node that has reached its owner share, and advises another") {
  ClusterView view = level_cluster(2, 0);
  view.nodes[0].owner_pods = 1;
  const auto policy = make_policy("dqn").value();
  std::mt19937_64 random(1);
  const PlacementDecision advice = decide(view, soft_replica(), names_of(view), {*policy}, {}, 1, random);
  REQUIRE(advice.top);
  CHECK(advice.record.advice == "n1");
  CHECK(advice.scores == std::vector<std::int64_t>{0, 10});
  CHECK(advice.record.candidates[0].masked == "the node already has its share of the owner's replicas");
  CHECK(advice.record.candidates[1].masked.empty());
}

TEST_CASE("a pod with a score limit gives it to the advised node only, and the reason names the pod's preference") {
  ClusterView view = level_cluster(4, 0);
  for (std::size_t i = 0; i < 4; ++i) view.nodes[i].curve.observe(0.5, 100 + 50 * static_cast<double>(i));
  PodSpec pod = small_pod();
  pod.prefers = "topology spread";
  const auto policy = make_policy("amortised").value();
  std::mt19937_64 random(1);
  const PlacementDecision unlimited = decide(view, pod, names_of(view), {*policy}, {}, 1, random);
  REQUIRE(unlimited.top);
  CHECK(unlimited.scores[*unlimited.top] == kTopScore);
  CHECK(unlimited.record.reason.find("the scheduler gives the pod's preferences more weight: topology spread") !=
        std::string::npos);
  pod.score_limit = 1;
  const PlacementDecision limited = decide(view, pod, names_of(view), {*policy}, {}, 1, random);
  REQUIRE(limited.top == unlimited.top);
  CHECK(limited.scores[*limited.top] == 1);
  CHECK(std::accumulate(limited.scores.begin(), limited.scores.end(), std::int64_t{0}) == 1);
  CHECK(limited.record.candidates[*limited.top].score == 1);
  CHECK(limited.record.reason.find("scored 1 of 10 so that the pod's preferences take precedence: topology spread") !=
        std::string::npos);
}

TEST_CASE("a board gives no score to a node with a PreferNoSchedule taint") {
  ClusterView view = level_cluster(3, 0);
  view.nodes[0].soft_taints = {"spare="};
  for (std::size_t i = 0; i < 3; ++i) view.nodes[i].curve.observe(0.5, 100 + 50 * static_cast<double>(i));
  const auto policy = make_policy("amortised").value();
  std::mt19937_64 random(1);
  for (const wire::BoardClass& one : board_classes(view, {*policy}, {}, 1, random)) {
    CHECK_FALSE(one.scores.contains("n0"));
    CHECK(one.scores.size() >= 1);
  }
}

}  // namespace wattle::placement
