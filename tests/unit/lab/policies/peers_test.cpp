#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "lab/policies/lab_policies.hpp"
#include "lab/policies/makers.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::placement {

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Nodes of 10 cores and 100 GiB with reports from a second ago, each with the scheduler's cache.
struct Cluster {
  ClusterView view;
  std::vector<KubeNode> nodes;
  std::vector<std::size_t> feasible;

  explicit Cluster(double now_s = 1000) { view.now = MonoTime(from_seconds(now_s)); }
  NodeView& add(double used_cores, double used_gib = 10, double requested_cores = 0, std::int64_t pods = 0) {
    NodeView node;
    node.name = "n" + std::to_string(view.nodes.size());
    node.allocatable = {10, 100 * kGiB};
    node.telemetry_age = from_seconds(1);
    node.values.cpu_used_cores = used_cores;
    node.values.memory_used_bytes = static_cast<std::uint64_t>(used_gib * kGiB);
    KubeNode kube;
    kube.allocatable_milli_cpu = 10'000;
    kube.allocatable_memory_bytes = static_cast<std::int64_t>(100 * kGiB);
    kube.requested_milli_cpu = kube.nonzero_milli_cpu = static_cast<std::int64_t>(1000 * requested_cores);
    kube.pods = pods;
    feasible.push_back(nodes.size());
    nodes.push_back(kube);
    view.nodes.push_back(std::move(node));
    return view.nodes.back();
  }
};

std::unique_ptr<Policy> made(const std::string& name) {
  const PolicyInfo* info = sim::lab_contestant(name).value().made_by;
  return info->make(*info, {});
}

std::vector<double> values_of(Policy& policy, const Cluster& cluster, const PodSpec& pod) {
  std::vector<std::size_t> all(cluster.view.nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  PolicyContext context(cluster.view, pod, all, cluster.feasible, nullptr, 0);
  context.scheduler = cluster.nodes;
  std::vector<double> values(all.size(), 0.0);
  policy.score(context, values);
  return values;
}

void place(Policy& policy, const Cluster& cluster, const PodSpec& pod, std::size_t node) {
  const PodEstimate ask{pod.request, 0, 0};
  policy.placed({1, ask, node, cluster.view.nodes[node].name, seconds(cluster.view.now.time_since_epoch())});
}

PodSpec pod_of(double cores, double gib = 1) {
  PodSpec pod;
  pod.uid = "p";
  pod.request = {cores, gib * kGiB};
  return pod;
}

}  // namespace

TEST_CASE("target load packing: rises to the target of 40 %, falls to zero at 100 %, as in its source") {
  const auto policy = made("target-load-packing");
  Cluster cluster;
  for (const double used : {0.0, 1.0, 2.5, 3.0, 5.5, 8.5, 9.0}) cluster.add(used);
  cluster.add(0).telemetry_age.reset();
  // One core requested counts as 1.5: 15, 25, 40, 45, 70, 100, 105 % predicted.
  const auto scores = values_of(*policy, cluster, pod_of(1));
  const std::vector<double> expected{std::round(60 * 15 / 40.0 + 40),
                                     std::round(60 * 25 / 40.0 + 40),
                                     100,
                                     std::round(40 * 55 / 60.0),
                                     std::round(40 * 30 / 60.0),
                                     0,
                                     0,
                                     0};
  CHECK(scores == expected);
  // A pod without a request counts as one core.
  CHECK(values_of(*policy, cluster, pod_of(0))[0] == std::round(60 * 10 / 40.0 + 40));
}

TEST_CASE("target load packing adds the pods bound in the last minute, which metrics cannot show") {
  const auto policy = made("target-load-packing");
  Cluster cluster(1000);
  cluster.add(0);
  cluster.add(0);
  const PodSpec pod = pod_of(1);
  place(*policy, cluster, pod, 0);
  place(*policy, cluster, pod, 0);
  Cluster later(1030);
  later.add(0);
  later.add(0);
  const auto soon = values_of(*policy, later, pod);
  CHECK(soon[0] == std::round(40 * (100 - 45) / 60.0));  // 15 + 30 %
  CHECK(soon[1] == std::round(60 * 15 / 40.0 + 40));
  Cluster much_later(1100);
  much_later.add(0);
  much_later.add(0);
  const auto settled = values_of(*policy, much_later, pod);
  CHECK(settled[0] == settled[1]);
}

TEST_CASE("load variation risk balancing: mean and deviation count equally, and the riskier resource decides") {
  const auto policy = made("lvrb");
  const PodSpec pod = pod_of(1, 5);
  for (int i = 0; i < 10; ++i) {
    Cluster cluster(1000 + 5 * i);
    cluster.add(4);                       // steady
    cluster.add(i % 2 == 0 ? 2.0 : 6.0);  // the same mean, varying
    cluster.add(1, 81);                   // memory is the risk
    const auto scores = values_of(*policy, cluster, pod);
    if (i < 9) continue;
    CHECK(scores[0] == std::round((1 - (0.5 + 0.0) / 2) * 100));
    CHECK(scores[1] == std::round((1 - (0.5 + 0.2) / 2) * 100));
    CHECK(scores[2] == std::round((1 - 0.86 / 2) * 100));
  }
}

TEST_CASE("koordinator: pods bound since the report are reserved, expired metrics are ignored, hot nodes are refused") {
  const auto policy = made("koordinator");
  const PodSpec pod = pod_of(0.9, 3);
  Cluster cluster(1000);
  cluster.add(2);
  cluster.add(2);
  cluster.add(5.9);                                  // above 65 % with the pod
  cluster.add(0).telemetry_age = from_seconds(200);  // expired
  const auto before = values_of(*policy, cluster, pod);
  // CPU 2 + 0.765 of 10: 72; memory 10 + 2.1 of 100 GiB: 87.
  CHECK(before[0] == std::floor((72 + 87) / 2.0));
  CHECK(before[1] == before[0]);
  CHECK(before[2] == -1);
  CHECK(before[3] == 0);
  place(*policy, cluster, pod, 0);
  CHECK(values_of(*policy, cluster, pod)[0] == std::floor((64 + 85) / 2.0));
  // If every node is hot the scores decide.
  Cluster hot(1000);
  hot.add(7);
  hot.add(8);
  const auto all_hot = values_of(*made("koordinator"), hot, pod);
  CHECK(all_hot[0] > all_hot[1]);
  CHECK(all_hot[1] >= 0);
  // A node without reports passes the filter, as in the source.
  hot.add(0).telemetry_age.reset();
  const auto not_received = values_of(*made("koordinator"), hot, pod);
  CHECK(not_received == std::vector<double>{-1, -1, 0});
}

TEST_CASE("most allocated is kube-scheduler's arithmetic, and counting pods counts pods") {
  Cluster cluster;
  cluster.add(0, 0, 5, 3);
  cluster.add(0, 0, 2, 7);
  const PodSpec pod = pod_of(1, 10);
  const auto most = values_of(*made("most-allocated"), cluster, pod);
  CHECK(most[0] == (60 + 10) / 2);
  CHECK(most[1] == (30 + 10) / 2);
  CHECK(values_of(*made("fewest-pods"), cluster, pod) == std::vector<double>{-3, -7});
  CHECK(values_of(*made("most-pods"), cluster, pod) == std::vector<double>{3, 7});
  CHECK(sim::lab_contestant("nope").error().fix.find("lvrb") != std::string::npos);
}
constexpr std::array<double, kCurvePoints> kStraight{100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200};

TEST_CASE("the exponential of PEAKS is recovered from its own points") {
  const Exponential truth{80, 12, 2.5};
  std::array<double, kCurvePoints> watts{};
  for (std::size_t i = 0; i < kCurvePoints; ++i) watts[i] = truth.watts_at(static_cast<double>(i) / 10);
  const Exponential found = fit_exponential(watts);
  CHECK(found.k2 == doctest::Approx(2.5).epsilon(0.01));
  CHECK(found.base_w == doctest::Approx(80).epsilon(0.01));
  CHECK(fit_exponential(kStraight).watts_at(0.5) == doctest::Approx(150).epsilon(0.001));
}

TEST_CASE("empty-node takes a node without pods, random any feasible one") {
  Cluster cluster;
  cluster.add(1, 10, 5, 5);
  cluster.add(1);
  cluster.add(1);
  const auto empty = values_of(*made("empty-node"), cluster, pod_of(1));
  CHECK(empty[1] > empty[0]);
  const auto random = made("random");
  std::array<int, 3> chosen{};
  for (int i = 0; i < 300; ++i) {
    const auto values = values_of(*random, cluster, pod_of(1));
    for (std::size_t row = 0; row < values.size(); ++row) chosen.at(row) += values[row] > 0 ? 1 : 0;
  }
  for (const int each : chosen) CHECK(each > 60);
  CHECK(chosen[0] + chosen[1] + chosen[2] == 300);
}

}  // namespace wattle::placement
