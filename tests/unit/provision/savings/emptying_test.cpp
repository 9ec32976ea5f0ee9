// emptying: nodes that can be emptied: fleets whose best packing is known by hand, and laws for any fleet.
#include "provision/savings/emptying.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace wattle::placement {
namespace {

using Nodes = std::vector<std::size_t>;

PackedNode of_cores(double cores, double idle_w) {
  PackedNode node;
  node.allocatable = {cores, 1e12};
  node.idle_w = idle_w;
  return node;
}

Nodes emptied(std::vector<PackedNode> nodes, std::vector<PackedPod> pods) {
  Emptying run(std::move(nodes), std::move(pods));
  while (run.step()) {
  }
  Nodes sorted = run.emptied();
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST_CASE("a node is emptied if all of its pods fit elsewhere, and the one with the most idle watts goes first") {
  const std::vector<PackedNode> nodes{of_cores(8, 50), of_cores(8, 90), of_cores(8, 70)};
  CHECK(emptied(nodes, {{0, {3, 0}}, {1, {3, 0}}, {2, {3, 0}}}) == Nodes{1});
  CHECK(emptied(nodes, {{0, {2, 0}}, {1, {2, 0}}, {2, {2, 0}}}) == Nodes{1, 2});
  CHECK(emptied(nodes, {{0, {5, 0}}, {1, {5, 0}}, {2, {5, 0}}}).empty());
}

TEST_CASE("a node without pods is empty from the start and takes none, and a node that is not open keeps its own") {
  std::vector<PackedNode> nodes{of_cores(8, 50), of_cores(8, 50), of_cores(8, 50)};
  CHECK(emptied(nodes, {{1, {6, 0}}, {2, {6, 0}}}) == Nodes{0});
  nodes[0].open = false;
  CHECK(emptied(nodes, {{1, {3, 0}}, {2, {3, 0}}}).size() == 1);
  nodes[1].open = false;
  CHECK(emptied(nodes, {{1, {3, 0}}, {2, {3, 0}}}).empty());
}

TEST_CASE("memory, the number of pods and pods that must stay limit a node as its cores do") {
  std::vector<PackedNode> nodes{of_cores(8, 60), of_cores(8, 50)};
  const std::vector<PackedPod> pods{{0, {1, 6e11}}, {1, {1, 6e11}}};
  CHECK(emptied(nodes, pods).empty());
  CHECK(emptied(nodes, {{0, {1, 4e11}}, {1, {1, 4e11}}}) == Nodes{0});
  nodes[1].pod_capacity = 1;
  CHECK(emptied(nodes, {{0, {1, 4e11}}, {1, {1, 4e11}}}) == Nodes{1});
  nodes[0].fixed = {7, 0};
  CHECK(emptied(nodes, {{0, {1, 4e11}}, {1, {1, 4e11}}}).empty());
}

TEST_CASE("a node that cannot be emptied gets all of its pods back") {
  Emptying run({of_cores(8, 90), of_cores(8, 50)}, {{0, {1, 0}}, {0, {2, 0}}, {0, {4, 0}}, {1, {3, 0}}});
  while (run.step()) {
  }
  // Node 0's pods do not fit on node 1, and node 1's pod does not fit on node 0 either.
  CHECK(run.emptied().empty());
  for (std::size_t p = 0; p < 3; ++p) CHECK(run.pods()[p].node == 0);
  CHECK(run.pods()[3].node == 1);
}

TEST_CASE("any fleet: no pod is lost, none is on an emptied node, and no node exceeds its capacity") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 25);
    std::vector<PackedNode> nodes;
    for (std::size_t i = 0; i < n; ++i) {
      nodes.push_back(of_cores(*rc::gen::inRange(1, 65), *rc::gen::inRange(0, 300)));
      nodes.back().allocatable.memory_bytes = *rc::gen::inRange(1, 65);
      nodes.back().pod_capacity = *rc::gen::inRange<std::uint64_t>(0, 12);
      nodes.back().open = *rc::gen::inRange(0, 5) > 0;
    }
    std::vector<PackedPod> pods;
    for (auto left = *rc::gen::inRange(0, 60); left > 0; --left)
      pods.push_back(
          {*rc::gen::inRange<std::size_t>(0, n), {*rc::gen::inRange(0, 80) / 8.0, *rc::gen::inRange(0, 80) / 8.0}});
    Emptying run(nodes, pods);
    while (run.step()) {
    }
    RC_ASSERT(run.pods().size() == pods.size());
    std::vector<Resources> before(n), after(n);
    std::vector<std::uint64_t> had(n, 0), has(n, 0);
    for (std::size_t p = 0; p < pods.size(); ++p) {
      RC_ASSERT(run.pods()[p].request.cpu_cores == pods[p].request.cpu_cores);
      before[pods[p].node].cpu_cores += pods[p].request.cpu_cores;
      before[pods[p].node].memory_bytes += pods[p].request.memory_bytes;
      ++had[pods[p].node];
      const std::size_t at = run.pods()[p].node;
      after[at].cpu_cores += pods[p].request.cpu_cores;
      after[at].memory_bytes += pods[p].request.memory_bytes;
      ++has[at];
      RC_ASSERT(at == pods[p].node || (nodes[at].open && nodes[pods[p].node].open));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto gone = std::count(run.emptied().begin(), run.emptied().end(), i);
      RC_ASSERT(gone <= (nodes[i].open ? 1 : 0));
      RC_ASSERT(gone == 0 || has[i] == 0);
      RC_ASSERT(after[i].cpu_cores <= std::max(before[i].cpu_cores, nodes[i].allocatable.cpu_cores) + 1e-6);
      RC_ASSERT(after[i].memory_bytes <= std::max(before[i].memory_bytes, nodes[i].allocatable.memory_bytes) + 1e-6);
      RC_ASSERT(has[i] <= std::max(had[i], nodes[i].pod_capacity));
    }
  }));
}

}  // namespace
}  // namespace wattle::placement
