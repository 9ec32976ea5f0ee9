// look_ahead: the decision keeps room for the next pods, and is unchanged without next pods.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>

#include "common/wire/codec.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/look_ahead.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;
using testing::random_view;
using testing::small_pod;

PodSpec pod_of(double cores, double memory_bytes = 1e9) {
  PodSpec pod;
  pod.uid = "next";
  pod.request = {cores, memory_bytes};
  return pod;
}

PlacementDecision advise(const ClusterView& view, const PodSpec& pod, const char* policy,
                         const std::vector<PodSpec>& next) {
  const auto made = make_policy(policy).value();
  PolicyInputs inputs{*made};
  inputs.ahead.next = next;
  std::mt19937_64 random(1);
  return decide(view, pod, names_of(view), inputs, {}, 1, random);
}

// Two nodes of 16 cores with the given free cores, and a third that is full.
ClusterView two_rooms(double first_free, double second_free) {
  ClusterView view;
  for (const char* name : {"n0", "n1", "n2"}) view.nodes.push_back(healthy_node(name, 16));
  view.nodes[0].requested.cpu_cores = 16 - first_free;
  view.nodes[1].requested.cpu_cores = 16 - second_free;
  view.nodes[2].requested.cpu_cores = 16;
  return view;
}

// Returns whether the pods fit in some assignment to nodes, by exhaustive search.
bool all_fit(ClusterView view, const std::vector<PodSpec>& pods, std::size_t from = 0) {
  if (from == pods.size()) return true;
  for (NodeView& node : view.nodes) {
    if (!mask_reason(node, pods[from], {}).empty()) continue;
    node.requested.cpu_cores += pods[from].request.cpu_cores;
    node.requested.memory_bytes += pods[from].request.memory_bytes;
    node.pods += 1;
    if (all_fit(view, pods, from + 1)) return true;
    node.requested.cpu_cores -= pods[from].request.cpu_cores;
    node.requested.memory_bytes -= pods[from].request.memory_bytes;
    node.pods -= 1;
  }
  return false;
}

}  // namespace

TEST_CASE("a small pod does not take the last room of the only node for the next large one, under every policy") {
  // kube-default takes the emptiest node, which is the large pod's room.
  for (const auto& [first, second] : {std::pair{4.0, 2.0}, std::pair{2.0, 4.0}}) {
    const ClusterView view = two_rooms(first, second);
    const char* roomy = first > second ? "n0" : "n1";
    const char* other = first > second ? "n1" : "n0";
    bool some_took_it = false;
    for (const PolicyInfo& info : policies()) {
      CAPTURE(info.name);
      const std::string name(info.name);
      const auto without = advise(view, pod_of(1), name.c_str(), {});
      some_took_it = some_took_it || without.record.advice == roomy;
      const auto with = advise(view, pod_of(1), name.c_str(), {pod_of(4)});
      CHECK(with.record.advice == other);
      CHECK(with.record.next_pods == 1);
      CHECK(with.record.reason.ends_with(
          "; 1 node is left free for the next pod, which would otherwise find no room or wake a node"));
      for (const wire::Candidate& each : with.record.candidates) {
        CHECK(each.leaves_out == (each.node == roomy ? 1 : 0));
        if (each.node == roomy) CHECK(each.score == 0);
      }
    }
    CHECK(some_took_it);
  }
}

TEST_CASE("a node that would be woken for the next pod stays asleep") {
  ClusterView view = two_rooms(4, 2);
  view.nodes[2].requested.cpu_cores = 0;
  view.nodes[2].asleep = true;
  view.nodes[2].wake_cost_j = 5000;
  const auto with = advise(view, pod_of(1), "kube-default", {pod_of(4)});
  CHECK(with.record.advice != "n0");
  CHECK(with.record.candidates[0].leaves_out == 0);
  CHECK(with.record.candidates[0].wakes_for_next == 1);
  CHECK(with.record.candidates[1].wakes_for_next == 0);
}

TEST_CASE("a next pod that fits in any case changes nothing, and no room is kept for one that fits nowhere") {
  const ClusterView view = two_rooms(8, 8);
  const auto without = advise(view, pod_of(1), "amortised", {});
  for (const std::vector<PodSpec>& next : {std::vector<PodSpec>{pod_of(4)}, {pod_of(12)}, {pod_of(7), pod_of(7)}}) {
    auto with = advise(view, pod_of(1), "amortised", next);
    CHECK(with.scores == without.scores);
    CHECK(with.record.reason == without.record.reason);
  }
}

TEST_CASE("more next pods than the limit count as the limit") {
  const ClusterView view = random_view(11, 8);
  std::vector<PodSpec> next;
  for (int i = 0; i < 40; ++i) next.push_back(pod_of(2));
  const auto with = advise(view, small_pod(), "amortised", next);
  CHECK(with.record.next_pods == kMaxAhead);
  next.resize(kMaxAhead);
  CHECK(advise(view, small_pod(), "amortised", next).scores == with.scores);
}

TEST_CASE("the pod is placed if possible, never on a masked node, and one next pod that can keep its room keeps it") {
  CHECK(rc::check([] {
    const ClusterView view =
        random_view(*rc::gen::arbitrary<std::uint64_t>(), 1 + *rc::gen::inRange<std::size_t>(0, 6));
    const PodSpec pod = pod_of(1 + *rc::gen::inRange(0, 8), 1e9);
    const std::vector<PodSpec> next{pod_of(1 + *rc::gen::inRange(0, 24), 1e9 * (1 + *rc::gen::inRange(0, 64)))};
    const auto without = advise(view, pod, "amortised", {});
    const auto with = advise(view, pod, "amortised", next);
    const bool any = std::any_of(view.nodes.begin(), view.nodes.end(),
                                 [&](const NodeView& node) { return mask_reason(node, pod, {}).empty(); });
    if (!any) RC_ASSERT(!with.top);
    RC_ASSERT(!without.top || with.top);
    if (!with.top) return;
    const NodeView& named = *std::find_if(view.nodes.begin(), view.nodes.end(),
                                          [&](const NodeView& node) { return node.name == with.record.advice; });
    RC_ASSERT(mask_reason(named, pod, {}).empty());
    if (!all_fit(view, {pod, next[0]})) return;
    ClusterView after = view;
    NodeView& there = *std::find_if(after.nodes.begin(), after.nodes.end(),
                                    [&](const NodeView& node) { return node.name == with.record.advice; });
    there.requested.cpu_cores += pod.request.cpu_cores;
    there.requested.memory_bytes += pod.request.memory_bytes;
    there.pods += 1;
    RC_ASSERT(all_fit(after, next));
  }));
}

TEST_CASE("without next pods and permission to wait a decision is identical to the byte") {
  CHECK(rc::check([] {
    const ClusterView view =
        random_view(*rc::gen::arbitrary<std::uint64_t>(), 1 + *rc::gen::inRange<std::size_t>(0, 9));
    const auto bytes = [&](const Ahead& ahead) {
      const auto policy = make_policy("dqn").value();
      PolicyInputs inputs{*policy};
      inputs.ahead = ahead;
      std::mt19937_64 random(3);
      DecideOptions options;
      options.epsilon = 0.3;
      auto advice = decide(view, small_pod(), names_of(view), inputs, options, 1, random);
      return wire::encode(wire::Message(advice.record)) + std::to_string(random());
    };
    RC_ASSERT(bytes({}) == bytes({{}, 0}));
  }));
}

}  // namespace wattle::placement
