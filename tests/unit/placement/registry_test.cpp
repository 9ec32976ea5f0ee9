// The registry of policies: each row makes a policy that decides and is documented.
#include "placement/decide/policies/registry.hpp"
#include "placement/cluster/view_fleet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/network.hpp"
#include "tests/places.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

TEST_CASE(
    "every row of the registry makes a policy of its name that decides on a view and on a fleet without telemetry") {
  ClusterView view = testing::random_view(4, 9);
  for (NodeView& node : view.nodes) {
    const std::uint64_t pods = node.pods;
    node = testing::healthy_node(node.name, node.allocatable.cpu_cores + 4);
    node.pods = pods;
  }
  for (const PolicyInfo& info : policies()) {
    CAPTURE(info.name);
    const auto policy = make_policy(info.name).value();
    CHECK(policy->name() == info.name);
    CHECK_FALSE(info.reason.empty());
    std::mt19937_64 random(1);
    const PlacementDecision advice =
        decide(view, testing::small_pod(), testing::names_of(view), {*policy}, {}, 0, random);
    REQUIRE(advice.top);
    CHECK(advice.record.policy == info.name);
    CHECK(advice.scores[*advice.top] == 10);
    CHECK(testing::choose(*policy, fleet_of(view), ask_of(testing::small_pod())).has_value());
  }
}

TEST_CASE("docs/reference/policies.md has exactly the policies of the registry, in its order") {
  std::ifstream file(tests::source_dir() + "/docs/reference/policies.md");
  REQUIRE(file);
  std::vector<std::string> documented, expected;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) documented.push_back(line.substr(3, line.find('`', 3) - 3));
  for (const PolicyInfo& info : policies()) expected.emplace_back(info.name);
  CHECK(documented == expected);
}

TEST_CASE("an unknown policy is refused with the list of names") {
  CHECK(parse_policy("guess").error().fix.find("node-order") != std::string::npos);
}

TEST_CASE("the margin keeps the plan's node unless another's Q is higher by more") {
  ClusterView view;
  for (const char* name : {"a", "b"}) view.nodes.push_back(testing::healthy_node(name));
  const PodSpec pod = testing::small_pod();
  const std::vector<std::size_t> both{0, 1};
  const std::vector<double> q{0.0, 0.3};
  PlanView plan;
  plan.pick = 0;
  const auto values = [&](double margin) {
    NetworkOptions options;
    options.margin = margin;
    const auto policy = make_policy("dqn", options).value();
    PolicyContext context(view, pod, both, both, nullptr, 0);
    context.q = q;
    context.plan = &plan;
    std::vector<double> scored(2, 0.0);
    policy->score(context, scored);
    return scored;
  };
  CHECK(values(0) == q);
  CHECK(values(0.2) == q);
  CHECK(values(0.4)[0] > values(0.4)[1]);
  CHECK(values(0.4)[1] == q[1]);
}

}  // namespace
}  // namespace wattle::placement
