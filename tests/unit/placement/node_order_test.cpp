// Policy node-order: the order of nodes, and its independence of the listing order and of noise.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "placement/cluster/cluster_model.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

PowerCurve straight(double idle_w, double max_w) {
  std::array<double, kCurvePoints> watts{};
  for (std::size_t k = 0; k < kCurvePoints; ++k)
    watts[k] = idle_w + (max_w - idle_w) * static_cast<double>(k) / static_cast<double>(kCurvePoints - 1);
  return PowerCurve::known(watts);
}

// Places the pods one after the other and returns the names of their nodes.
std::vector<std::string> placements(ClusterView view, const std::vector<Resources>& pods) {
  const auto policy = make_policy("node-order").value();
  std::mt19937_64 random(1);
  std::vector<std::string> chosen;
  for (const Resources& request : pods) {
    PodSpec pod = testing::small_pod();
    pod.request = request;
    const PlacementDecision advice = decide(view, pod, testing::names_of(view), {*policy}, {}, chosen.size(), random);
    chosen.push_back(advice.record.advice);
    if (!advice.top) continue;
    NodeView& node = view.nodes[advice.node[advice.row_of[*advice.top]]];
    node.requested.cpu_cores += request.cpu_cores;
    node.requested.memory_bytes += request.memory_bytes;
    ++node.pods;
  }
  return chosen;
}

TEST_CASE("the order of listing nodes does not change the placement of any pod") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    std::mt19937_64 random(seed);
    ClusterView view = testing::random_view(seed, *rc::gen::inRange<std::size_t>(1, 12));
    // Every second node equals the previous one, so that names decide ties.
    for (std::size_t i = 1; i < view.nodes.size(); i += 2) {
      const std::string name = view.nodes[i].name;
      view.nodes[i] = view.nodes[i - 1];
      view.nodes[i].name = name;
    }
    std::vector<Resources> pods;
    for (std::size_t p = 0; p < 20; ++p)
      pods.push_back({0.25 * static_cast<double>(1 + random() % 8), 1e9 * static_cast<double>(random() % 8)});
    const std::vector<std::string> listed = placements(view, pods);
    std::shuffle(view.nodes.begin(), view.nodes.end(), random);
    RC_ASSERT(placements(view, pods) == listed);
  }));
}

TEST_CASE("nodes are filled one after the other, by watts at half load per place") {
  ClusterView view;
  for (const char* name : {"c", "b", "a"}) view.nodes.push_back(testing::healthy_node(name, 4));
  view.nodes[0].curve = straight(80, 120);   // 25 W per place
  view.nodes[1].curve = straight(20, 200);   // 27.5 W
  view.nodes[2].curve = straight(100, 140);  // 30 W
  CHECK(placements(view, std::vector<Resources>(9, {1, 1e9})) ==
        std::vector<std::string>{"c", "c", "c", "c", "b", "b", "b", "b", "a"});
  CHECK(placements(view, {{4, 1e9}, {4, 1e9}, {1, 1e9}}) == std::vector<std::string>{"c", "b", "a"});
}

TEST_CASE("a place needs cores and memory: the scarcer of them counts the places") {
  FleetNode node;
  node.allocatable = {8, 8e9};
  node.watts.fill(100);
  CHECK(packing_w(node, {1, 1e9}) == doctest::Approx(100.0 / 8));
  CHECK(packing_w(node, {1, 4e9}) == doctest::Approx(100.0 / 2));
  CHECK(packing_w(node, {1, 0}) == doctest::Approx(100.0 / 8));
  node.pod_capacity = 5;
  CHECK(packing_w(node, {0.5, 1e9}) == doctest::Approx(100.0 / 5));
  node.half_load_w = 120;
  CHECK(packing_w(node, {0.5, 1e9}) == doctest::Approx(120.0 / 5));
}

TEST_CASE("noise within the hysteresis does not reorder nodes, a larger change of a curve does") {
  ClusterView view;
  view.now = MonoTime(from_seconds(1));
  for (const char* name : {"a", "b"}) view.nodes.push_back(testing::healthy_node(name, 4));
  ClusterModel model;
  const auto first = [&](double a_w, double b_w) {
    view.nodes[0].curve = straight(a_w, a_w);
    view.nodes[1].curve = straight(b_w, b_w);
    view.now += from_seconds(1);
    const Fleet& fleet = model.refresh(view);
    return packing_w(fleet.nodes[0], fleet.usual_request) < packing_w(fleet.nodes[1], fleet.usual_request) ? 'a' : 'b';
  };
  CHECK(first(100, 101) == 'a');
  CHECK(rc::check([&] {
    const auto noise = [] { return 0.001 * *rc::gen::inRange(-29, 30); };
    RC_ASSERT(first(100 * (1 + noise()), 101 * (1 + noise())) == 'a');
  }));
  CHECK(first(100 * (1 + 2 * kOrderHysteresis), 101) == 'b');
}

}  // namespace
}  // namespace wattle::placement
