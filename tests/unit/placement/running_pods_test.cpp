// Running pods of a ClusterModel: by handle, in reused slots, summed by node.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "placement/cluster/cluster_model.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

// The same history in two models: one gets readings of many nodes at once by handle, the other one by one by name.
struct ReportedTwice {
  std::mt19937_64 random;
  ClusterModel by_handle, by_name;
  ClusterView view;
  struct Pod {
    std::string uid;
    PodHandle handle;
    std::size_t node = 0;
  };
  std::vector<Pod> running;
  std::vector<PodHandle> gone;
  std::size_t made = 0;
  double now_s = 0;

  explicit ReportedTwice(std::uint64_t seed) : random(seed) {
    const std::size_t nodes = 1 + random() % 5;
    for (std::size_t i = 0; i < nodes; ++i) {
      view.nodes.push_back(testing::healthy_node("n" + std::to_string(i)));
      view.nodes.back().values.cpu_used_cores.reset();  // usage outside pods is unknown
    }
    pass();
  }
  double real(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); }
  MonoTime now() const { return MonoTime{} + from_seconds(now_s); }
  void pass() {
    now_s += real(1, 60);
    view.now = now();
    by_handle.refresh(view);
    by_name.refresh(view);
  }
  void come() {
    PodSpec pod;
    pod.uid = "pod-" + std::to_string(made++);
    pod.app = "ReplicaSet/app" + std::to_string(random() % 4) + " image";
    pod.request = {real(0.1, 4), real(1e6, 1e9)};
    const std::size_t node = random() % view.nodes.size();
    const PodHandle handle = by_handle.placed(pod, view.nodes[node].name, now());
    by_name.placed(pod, view.nodes[node].name, now());
    const std::string* uid = by_handle.pods().uid(handle);
    RC_ASSERT(uid != nullptr);
    RC_ASSERT(*uid == pod.uid);
    const PodHandle again = by_handle.placed(pod, view.nodes[node].name, now());  // reports it twice
    RC_ASSERT((again.slot == handle.slot && again.generation == handle.generation));
    running.push_back({pod.uid, handle, node});
  }
  void read() {
    const double interval_s = real(1, 3000);
    std::vector<PodReading> readings;
    for (std::size_t n = 1 + random() % 6; n > 0; --n) {
      const Pod& pod = running[random() % running.size()];
      const double cores = random() % 4 == 0 ? 0 : real(0, 5);
      readings.push_back({pod.handle, cores});
      testing::use_pod(by_name, pod.uid, cores, interval_s);
      if (random() % 4 == 0) readings.push_back({{}, cores});                            // no pod
      if (random() % 4 == 0) readings.push_back({pod.handle, random() % 2 ? -1 : NAN});  // an invalid reading
    }
    by_handle.used(readings, interval_s);
  }
  void begin_deletion() {
    const std::string& uid = running[random() % running.size()].uid;
    by_handle.leaving(uid, now());
    by_name.leaving(uid, now());
  }
  void leave() {
    const std::size_t which = random() % running.size();
    by_handle.gone(running[which].uid, now());
    by_name.gone(running[which].uid, now());
    gone.push_back(running[which].handle);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
  }
  // Another pod may have its slot.
  void read_gone() {
    const PodHandle pod = gone[random() % gone.size()];
    RC_ASSERT(by_handle.pods().uid(pod) == nullptr);
    RC_ASSERT(!by_handle.running(pod).has_value());
    testing::use_pod(by_handle, pod, 3, 600);
  }
  void turn() {
    const auto what = random() % 9;
    if (what < 2 || running.empty()) return come();
    if (what == 2) return leave();
    if (what == 3 && !gone.empty()) return read_gone();
    if (what == 4) return pass();
    if (what == 5) return begin_deletion();
    read();
  }
  void compare() {
    RC_ASSERT(by_handle.pods().size() == running.size());
    RC_ASSERT(by_handle.save(view) == by_name.save(view));
    const Fleet& fleet = by_handle.fleet(view);
    const Fleet& other = by_name.fleet(view);
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      double cores = 0, cores2 = 0, uncertain_cores = 0;
      for (const Pod& pod : running) {
        if (pod.node != i) continue;
        const auto expected = by_handle.running(pod.handle);
        RC_ASSERT(expected.has_value());
        cores += expected->demand_cores;
        cores2 += expected->demand_cores2;
        uncertain_cores += expected->uncertain_cores;
      }
      const FleetNode& node = fleet.nodes[i];
      RC_ASSERT(node.used_cores == other.nodes[i].used_cores);
      RC_ASSERT(node.used_cores == doctest::Approx(cores).epsilon(1e-9));
      RC_ASSERT(node.used_cores2 == doctest::Approx(cores2).epsilon(1e-9));
      RC_ASSERT(node.uncertain_cores == doctest::Approx(uncertain_cores).epsilon(1e-9));
    }
  }
};

}  // namespace

TEST_CASE("a node's sums are those of its pods, and a deleted pod does not count, whichever pod has its slot") {
  CHECK(rc::check([] {
    ReportedTwice reported(*rc::gen::arbitrary<std::uint64_t>());
    const int turns = *rc::gen::inRange(1, 400);
    for (int turn = 0; turn < turns; ++turn) {
      reported.turn();
      if (turn % 16 == 0) reported.compare();
    }
    reported.compare();
  }));
}

TEST_CASE("the usage of a pod that is being deleted is expected neither from it nor from the rest of its node") {
  constexpr double kPodCores = 2, kOtherCores = 0.5;
  ClusterModel model;
  ClusterView view;
  view.nodes = {testing::healthy_node("n1"), testing::healthy_node("n2")};
  PodSpec pod;
  pod.uid = "pod-1";
  pod.app = "ReplicaSet/web image";
  pod.request = {4, 1e9};
  model.placed(pod, "n1", view.now);
  const auto minute = [&](double used_cores) {
    view.now += std::chrono::minutes(1);
    view.nodes[0].values.cpu_used_cores = used_cores;
    testing::use_pod(model, pod.uid, kPodCores, 60);
    model.refresh(view);
    return model.fleet(view).nodes[0];
  };
  FleetNode before;
  for (int i = 0; i < 60; ++i) before = minute(kPodCores + kOtherCores);
  CHECK(before.used_cores == doctest::Approx(kPodCores + kOtherCores).epsilon(0.01));

  model.leaving(pod.uid, view.now);
  model.leaving(pod.uid, view.now);
  for (int i = 0; i < 10; ++i) {
    const FleetNode node = minute(kPodCores + kOtherCores);
    CHECK(node.used_cores == doctest::Approx(kOtherCores).epsilon(0.01));
    CHECK(node.used_cores2 <= before.used_cores2);
  }
  CHECK(model.running(model.pods().find(pod.uid))->demand_cores == 0);
  CHECK(model.running(model.pods().find(pod.uid))->request.cpu_cores == 4);

  model.gone(pod.uid, view.now);
  CHECK(minute(kOtherCores).used_cores == doctest::Approx(kOtherCores).epsilon(0.01));
  CHECK(model.pods().size() == 0);
}

}  // namespace wattle::placement
