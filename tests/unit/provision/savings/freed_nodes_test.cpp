// freed_nodes: nodes that changes free: each change alone, all together, and at most the idle watts of the fleet.
#include "provision/savings/freed_nodes.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace wattle::placement {
namespace {

PackedNode sized_node(double cores, double idle_w) {
  PackedNode node;
  node.allocatable = {cores, 64};
  node.idle_w = idle_w;
  return node;
}

SavingsPod pod(std::size_t node, double now, double right, std::size_t change = SavingsPod::kNoChange) {
  return {node, {now, 1}, {right, 1}, change, false};
}

void run(FreedNodes& freed) {
  while (freed.step()) {
  }
}

TEST_CASE("by shares, each pod saves the watts of the capacity that it gives up, lasting or now") {
  std::vector<SavingsPod> pods{pod(0, 6, 2, 0), pod(0, 2, 2)};
  pods[0].hourly = Resources{1, 1};
  pods[1].spare = true;
  const FreedNodes freed({sized_node(8, 53)}, pods, 1);
  CHECK(freed.requests_by_share_w() == std::vector<double>{25, 31.25});
  CHECK(freed.replicas_by_share_w() == std::vector<double>{12.5});
}

TEST_CASE("changes free the nodes that packing alone would not, and the largest are packed one after the other") {
  // Three nodes of 8 cores with a pod of 6 each: no two fit on one. At 2 cores all fit on one.
  FreedNodes freed({sized_node(8, 53), sized_node(8, 53), sized_node(8, 53)},
                   {pod(0, 6, 2, 0), pod(1, 6, 2, 1), pod(2, 6, 5, 2)}, 3);
  run(freed);
  CHECK(freed.empty().nodes == 0);
  CHECK(freed.ranked() == std::vector<std::size_t>{0, 1, 2});
  CHECK(freed.freed_after() == std::vector<std::size_t>{1, 1, 1});
  CHECK(freed.requests().nodes == 1);
  CHECK(freed.requests().saved_w == 50);
}

TEST_CASE("a node that is empty already, or that packing alone empties, is not counted as freed") {
  FreedNodes idle({sized_node(8, 53), sized_node(8, 53)}, {pod(0, 6, 2, 0)}, 1);
  run(idle);
  CHECK(idle.empty().nodes == 1);
  CHECK(idle.empty().saved_w == 50);
  CHECK(idle.requests().nodes == 0);
  FreedNodes packs({sized_node(8, 53), sized_node(8, 53)}, {pod(0, 3, 1, 0), pod(1, 3, 1, 0)}, 1);
  run(packs);
  CHECK(packs.empty().nodes == 0);
  CHECK(packs.requests().nodes == 0);
}

TEST_CASE("the same node may be freed by smaller requests or by fewer replicas, and counts once for both") {
  std::vector<SavingsPod> pods{pod(0, 6, 2, 0), pod(1, 6, 2, 0)};
  pods[1].spare = true;
  FreedNodes freed({sized_node(8, 53), sized_node(8, 53)}, pods, 1);
  run(freed);
  CHECK(freed.requests().nodes == 1);
  CHECK(freed.replicas().nodes == 1);
  CHECK(freed.both().nodes == 1);
}

TEST_CASE("requests that must rise can cost nodes, and the figure is negative then") {
  FreedNodes freed({sized_node(8, 53), sized_node(8, 53)}, {pod(0, 1, 7, 0), pod(1, 1, 7, 0)}, 1);
  run(freed);
  CHECK(freed.requests().nodes == 0);
  CHECK(freed.requests().saved_w == -50);
}

TEST_CASE("without changes and spare replicas nothing is packed") {
  FreedNodes freed({sized_node(8, 53)}, {pod(0, 1, 1)}, 0);
  CHECK_FALSE(freed.step());
  CHECK(freed.both().saved_w == 0);
}

TEST_CASE("any fleet with smaller requests: no lever loses, and together they save at most all idle watts") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 20);
    std::vector<PackedNode> nodes;
    double idle_w = 0;
    for (std::size_t i = 0; i < n; ++i) {
      nodes.push_back(sized_node(*rc::gen::inRange(1, 65), *rc::gen::inRange(0, 300)));
      idle_w += nodes.back().idle_w;
    }
    const auto changes = *rc::gen::inRange<std::size_t>(0, 5);
    std::vector<SavingsPod> pods;
    for (auto left = *rc::gen::inRange(0, 50); left > 0; --left) {
      const double now = *rc::gen::inRange(1, 80) / 8.0;
      pods.push_back(pod(*rc::gen::inRange<std::size_t>(0, n), now, now * *rc::gen::inRange(1, 9) / 8.0,
                         *rc::gen::inRange<std::size_t>(0, 6)));
      pods.back().spare = *rc::gen::inRange(0, 4) == 0;
    }
    FreedNodes freed(nodes, pods, changes);
    run(freed);
    for (const NodesFreed& each : {freed.empty(), freed.requests(), freed.replicas(), freed.both()})
      RC_ASSERT(each.saved_w >= 0);
    RC_ASSERT(freed.empty().saved_w + freed.both().saved_w <= idle_w + 1e-9);
    RC_ASSERT(freed.freed_after().size() == std::min(changes, kMostRanked));
    RC_ASSERT(freed.ranked().size() == changes);
    // A lever alone does not depend on the other.
    std::vector<SavingsPod> none_spare = pods;
    for (SavingsPod& each : none_spare) each.spare = false;
    FreedNodes alone(nodes, none_spare, changes);
    run(alone);
    RC_ASSERT(alone.requests().saved_w == freed.requests().saved_w);
    FreedNodes replicas(nodes, pods, 0);
    run(replicas);
    RC_ASSERT(replicas.replicas().saved_w == freed.replicas().saved_w);
  }));
}

}  // namespace
}  // namespace wattle::placement
