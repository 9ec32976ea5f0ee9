#include "sim/world/kube_scoring.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "common/json/value.hpp"
#include "tests/places.hpp"

using namespace wattle::sim;

namespace {

using json = wattle::SortedJson;

constexpr std::int64_t kBinaryGiB = 1LL << 30;

json recorded_scores() {
  std::ifstream file(wattle::tests::source_dir() + "/tests/fixtures/sim/kube-scheduler-scores.json");
  return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

// Recorded by tests/e2e/kube/scores_test.py --write.
TEST_CASE("the model gives the scores that a real kube-scheduler logged") {
  const json recorded = recorded_scores();
  std::vector<KubeNode> nodes;
  std::vector<std::string> names;
  for (const json& node : recorded["nodes"]) {
    nodes.push_back({node["milli_cpu"].get<std::int64_t>(), node["memory_bytes"].get<std::int64_t>(),
                     node["pods"].get<std::int64_t>()});
    names.push_back(node["name"].get<std::string>());
  }
  REQUIRE(recorded["pods"].size() >= 60);
  for (const json& one : recorded["pods"]) {
    const KubePod pod{one["milli_cpu"].get<std::int64_t>(), one["memory_bytes"].get<std::int64_t>()};
    const json& scores = one["scores"];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      REQUIRE(fits(nodes[i], pod) == scores.contains(names[i]));
      if (!fits(nodes[i], pod)) continue;
      const json& real = scores[names[i]];
      const std::int64_t fit =
          one["packed"].get<bool>() ? most_allocated(nodes[i], pod) : least_allocated(nodes[i], pod);
      CHECK(fit == real[0].get<std::int64_t>());
      CHECK(balanced_allocation(nodes[i], pod) == real[1].get<std::int64_t>());
    }
    const auto bound = static_cast<std::size_t>(std::find(names.begin(), names.end(), one["bound"].get<std::string>()) -
                                                names.begin());
    REQUIRE(bound < nodes.size());
    add_pod(nodes[bound], pod);
  }
}

TEST_CASE("least allocated is the integer mean of the free shares after the pod") {
  // CPU: (4000 - 3000) * 100 / 4000 = 25; memory: (10000 - 5000) * 100 / 10000 = 50; (25 + 50) / 2 = 37
  const KubeNode node{4000, 10000, 110, 0, 0, 0, 0, 0};
  CHECK(least_allocated(node, {3000, 5000}) == 37);
}

TEST_CASE("least allocated truncates each resource's score before the mean") {
  // CPU: (3000 - 1000) * 100 / 3000 = 66; memory: (7 - 2) * 100 / 7 = 71; 137 / 2 = 68
  CHECK(least_allocated(KubeNode{3000, 7 * kBinaryGiB, 110}, {1000, 2 * kBinaryGiB}) == 68);
}

TEST_CASE("least allocated counts 100m and 200 MiB for a pod that requests nothing") {
  // CPU: 3900 * 100 / 4000 = 97; memory: (1 GiB - 200 MiB) * 100 / 1 GiB = 80; 177 / 2 = 88
  CHECK(least_allocated(KubeNode{4000, kBinaryGiB, 110}, {}) == 88);
}

TEST_CASE("least allocated gives zero for a resource that would be exceeded") {
  KubeNode node{4000, 10000, 110};
  node.nonzero_milli_cpu = 3500;
  CHECK(least_allocated(node, {1000, 5000}) == 25);  // (0 + 50) / 2
}

TEST_CASE("balanced allocation scores how much the pod changes the balance") {
  KubeNode node{4000, 10000, 110};
  CHECK(balanced_allocation(node, {2000, 5000}) == 75);                 // 50 + (50 + 100 - 100) / 2
  CHECK(balanced_allocation(node, {3000, 5000}) == 68);                 // 50 + (50 + 87 - 100) / 2, truncated
  CHECK(balanced_allocation(node, {9000, 5000}) == 62);                 // a fraction is at most 1
  CHECK(balanced_allocation(KubeNode{4000, 0, 110}, {3000, 0}) == 75);  // a single resource is balanced
  add_pod(node, {2000, 0});
  CHECK(balanced_allocation(node, {0, 5000}) == 87);  // 50 + (50 + 100 - 75) / 2, truncated
}

TEST_CASE("balanced allocation counts real requests, not defaults, and skips a pod without any") {
  KubeNode node{4000, 10 * kBinaryGiB, 110};
  add_pod(node, {});  // best effort: nothing requested, 100m and 200 MiB non-zero
  CHECK(node.requested_milli_cpu == 0);
  CHECK(node.nonzero_milli_cpu == 100);
  CHECK(balanced_allocation(node, {2000, 5 * kBinaryGiB}) == 75);
  CHECK(balanced_allocation(node, {}) == 0);
}

TEST_CASE("an extender's winner at weight 6 matches the highest default score") {
  KubeNode empty{4000, 8 * kBinaryGiB, 110}, full = empty;
  add_pod(full, {3500, 7 * kBinaryGiB});
  const std::vector<KubeNode> nodes{empty, full};
  std::mt19937_64 random(1);
  const KubePod pod{250, 64 << 20};
  CHECK(select_node(nodes, pod, {}, 0, random) == 0);
  const std::vector<std::int64_t> scores{0, 10};
  CHECK(select_node(nodes, pod, scores, 6, random) == 1);
  const std::vector<std::int64_t> veto_of_unfit{0, 10};
  CHECK(select_node(nodes, {1000, kBinaryGiB}, veto_of_unfit, 6, random) == 0);
}

TEST_CASE("ties are broken at random, each with equal chance") {
  const std::vector<KubeNode> nodes(3, KubeNode{4000, kBinaryGiB, 110});
  std::mt19937_64 random(7);
  std::map<std::size_t, int> count;
  for (int i = 0; i < 3000; ++i) ++count[*select_node(nodes, {100, 1 << 20}, {}, 0, random)];
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(count[i] - 1000) < 120);
}

TEST_CASE("no node is selected if none fits, and the pod count is a limit") {
  std::vector<KubeNode> nodes(1, KubeNode{4000, kBinaryGiB, 1});
  std::mt19937_64 random(1);
  add_pod(nodes[0], {100, 1 << 20});
  CHECK_FALSE(select_node(nodes, {100, 1 << 20}, {}, 0, random));
  remove_pod(nodes[0], {100, 1 << 20});
  CHECK(select_node(nodes, {100, 1 << 20}, {}, 0, random) == 0);
}
