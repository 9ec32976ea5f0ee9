// features: finite for any telemetry, and documented.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/places.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

bool finite(const models::Observation& observation) {
  const auto all = [](const auto& values) {
    for (const float value : values)
      if (!std::isfinite(value) || std::abs(value) > 1e6F) return false;
    return true;
  };
  return all(observation.node) && all(observation.pod) && all(observation.context) && all(observation.prior);
}

TEST_CASE("features are finite for arbitrary and missing telemetry") {
  CHECK(rc::check([] {
    ClusterView view = testing::random_view(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(0, 8));
    const double odd =
        *rc::gen::element(std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 0.0, -1.0, 1e300, 1e-300);
    for (NodeView& node : view.nodes) {
      switch (*rc::gen::inRange(0, 8)) {
        case 0:
          node.values.cpu_used_cores = odd;
          break;
        case 1:
          node.values.cpu_cores = odd;
          break;
        case 2:
          node.allocatable.cpu_cores = odd;
          break;
        case 3:
          node.requested.memory_bytes = odd;
          break;
        case 4:
          node.latency_ms["default"] = odd;
          break;
        case 5:
          node.values.pressure.cpu_some_ratio = odd;
          break;
        case 6:
          node.wake_cost_j = odd;
          break;
        default:
          node.unsettled_cpu_cores = odd;
          break;
      }
    }
    PodSpec pod = testing::small_pod();
    if (*rc::gen::arbitrary<bool>()) pod.request.cpu_cores = odd;
    if (*rc::gen::arbitrary<bool>()) pod.latency_soft_ms = odd;
    const models::Observation observation = observe(view, pod, std::vector<std::string_view>(view.nodes.size()), {});
    RC_ASSERT(observation.nodes == view.nodes.size());
    RC_ASSERT(finite(observation));
    std::mt19937_64 random(1);
    // Every policy accepts it too.
    for (const PolicyInfo& info : policies()) {
      const auto policy = make_policy(info.name).value();
      RC_ASSERT(finite(decide(view, pod, testing::names_of(view), {*policy}, {}, 0, random).observation));
    }
  }));
}

TEST_CASE("masks are tried in order") {
  NodeView node = testing::healthy_node("a", 2);
  PodSpec pod = testing::small_pod();
  const MaskOptions options;
  CHECK(mask_reason(node, pod, options).empty());
  node.in_flight = node.starts = 8;
  CHECK(mask_reason(node, pod, options) == "start cap reached");
  pod.latency_hard_ms = 10;
  CHECK(mask_reason(node, pod, options) == "latency unknown under a hard limit");
  node.latency_ms["default"] = 11;
  CHECK(mask_reason(node, pod, options) == "hard latency limit exceeded");
  node.pods = 105;
  CHECK(mask_reason(node, pod, options) == "pods do not fit");
  node.requested.memory_bytes = 8e9;
  CHECK(mask_reason(node, pod, options) == "memory does not fit");
  node.in_flight_request.cpu_cores = 1.9;
  CHECK(mask_reason(node, pod, options) == "cpu does not fit");
  node.telemetry_age = from_seconds(10.5);
  CHECK(mask_reason(node, pod, options) == "stale telemetry");
  node.telemetry_age.reset();
  CHECK(mask_reason(node, pod, options) == "no telemetry yet");
  node.ready = false;
  CHECK(mask_reason(node, pod, options) == "not ready");
}

TEST_CASE("the prior and weights of another reward are recovered from the features") {
  ClusterView view = testing::random_view(11, 10);
  PodSpec pod = testing::small_pod();
  pod.latency_soft_ms = 20;
  pod.latency_hard_ms = 30;
  RewardConfig other;
  other.weights = {3, 0.5, 1, 0, 2, 1, 1};
  const std::vector<std::string_view> masked(view.nodes.size());
  models::Observation seen = observe(view, pod, masked, {});
  const models::Observation direct = observe(view, pod, masked, other);
  relabel(seen, other);
  CHECK(seen.context == direct.context);
  for (std::size_t row = 0; row < seen.nodes; ++row)
    CHECK(seen.prior[row] == doctest::Approx(direct.prior[row]).epsilon(1e-3));
}

TEST_CASE("placement/worth/features.md lists exactly the features, in order, and the schema hash is 16 digits") {
  std::ifstream file(tests::source_dir() + "/placement/worth/features.md");
  REQUIRE(file.good());
  std::vector<std::string> listed, expected;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `", 0) == 0) listed.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  const auto expect = [&expected](const auto& specs) {
    for (const FeatureSpec& spec : specs) expected.emplace_back(spec.name);
  };
  expect(kNodeFeatureSpecs);
  expect(kPodFeatureSpecs);
  expect(kContextFeatureSpecs);
  CHECK(listed == expected);
  CHECK(feature_schema_hash().size() == 16);
  CHECK(feature_schema_hash() == "aa335030dd3ecbfc");  // the shipped networks' schema
}

TEST_CASE("docs/reference/simulator.md has the right number of features") {
  std::ifstream file(tests::source_dir() + "/docs/reference/simulator.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string shapes = "`nodes` [N][" + std::to_string(models::kNodeFeatures) + "], `pod` [" +
                             std::to_string(models::kPodFeatures) + "], `context` [" +
                             std::to_string(models::kContextFeatures) + "]";
  CHECK(page.find(shapes) != std::string::npos);
}

}  // namespace
}  // namespace wattle::placement
