// cgroup_containers: usage of a pod's containers, never more than the pod's, over restarts and ends.
#include "agent/collect/cgroup_containers.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <numeric>

#include "agent/attribute/attribute.hpp"
#include "agent/collect/cgroup.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
const std::string kPodUid = "11111111-2222-3333-4444-000000000001";
const std::string kPodParent = "kubepods.slice/kubepods-burstable.slice";
const std::string kPodDir = kPodParent + "/kubepods-burstable-pod11111111_2222_3333_4444_000000000001.slice";

std::string container_id_of(int n) {
  const std::string digits = std::to_string(n);
  return std::string(12 - digits.size(), 'a') + digits + std::string(52, '0');
}
std::string short_container_id(int n) { return container_id_of(n).substr(0, 12); }
std::string container_dir(int n) { return kPodDir + "/cri-containerd-" + container_id_of(n) + ".scope"; }

void set_usage(const Tree& tree, const std::string& dir, std::uint64_t usage_us) {
  tree.put(dir + "/cpu.stat", "usage_usec " + std::to_string(usage_us) + "\n");
}

// Ticks of one second.
struct PodTicks {
  explicit PodTicks(const Tree& tree, CgroupTreeOptions options = {})
      : collector(CgroupTree::open_(std::move(*Dir::open_(tree.path())), std::move(options))) {}
  std::optional<WorkloadValues> tick(bool ended = false) {
    clock.advance(1s);
    collector.read(readings, clock, 4, scratch);
    for (const WorkloadValues& each : readings.workloads)
      if (each.name == kPodUid && each.ended == ended) return each;
    return std::nullopt;
  }
  CgroupCollector collector;
  CgroupReadings readings;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
};

std::map<std::string, std::uint64_t> used_by(const WorkloadValues& pod) {
  std::map<std::string, std::uint64_t> out;
  for (const ContainerValues& each : pod.containers) out[each.id] = each.cpu_usage_us;
  return out;
}
using UsedBy = std::map<std::string, std::uint64_t>;
}  // namespace

TEST_CASE("each container of a pod that ran is reported with its usage, under a twelve-digit id, and no other") {
  const Tree tree;
  set_usage(tree, kPodDir, 1000);
  for (int n = 1; n <= 3; ++n) set_usage(tree, container_dir(n), 300);
  set_usage(tree, container_dir(1) + "/inner", 100);  // the outermost counts
  PodTicks ticks(tree);
  CHECK(ticks.tick()->containers.empty());  // the first reading
  set_usage(tree, kPodDir, 51'000);
  set_usage(tree, container_dir(1), 30'300);
  set_usage(tree, container_dir(1) + "/inner", 30'100);
  set_usage(tree, container_dir(2), 15'300);
  const auto pod = ticks.tick();
  REQUIRE(pod);
  CHECK(*pod->cpu_usage_us == 50'000);
  CHECK(used_by(*pod) == UsedBy{{short_container_id(1), 30'000}, {short_container_id(2), 15'000}});
  CHECK(pod->containers.front().id == short_container_id(1));
  CHECK(ticks.tick()->containers.empty());  // no CPU time
}

TEST_CASE("a restarted container is a new one, and has its usage since its start") {
  const Tree tree;
  set_usage(tree, kPodParent, 100'000);
  set_usage(tree, kPodDir, 100'000);
  set_usage(tree, container_dir(1), 100'000);
  CgroupTreeOptions options;
  options.full_every = 1;
  PodTicks ticks(tree, options);
  ticks.tick();
  set_usage(tree, kPodDir, 160'000);
  tree.remove(container_dir(1));
  set_usage(tree, container_dir(2), 20'000);
  auto pod = ticks.tick();
  REQUIRE(pod);
  CHECK(used_by(*pod) == UsedBy{{short_container_id(1), 40'000},
                                {short_container_id(2), 20'000}});  // the pod's increase minus the living containers'
  set_usage(tree, kPodDir, 170'000);
  set_usage(tree, container_dir(2), 30'000);
  pod = ticks.tick();
  REQUIRE(pod);
  CHECK(used_by(*pod) == UsedBy{{short_container_id(2), 10'000}});
}

TEST_CASE("the remaining usage of a pod that ended is divided among its containers in their earlier proportions") {
  const Tree tree;
  set_usage(tree, kPodParent, 0);
  set_usage(tree, kPodDir, 0);
  set_usage(tree, container_dir(1), 0);
  set_usage(tree, container_dir(2), 0);
  CgroupTreeOptions options;
  options.full_every = 1;
  PodTicks ticks(tree, options);
  ticks.tick();
  set_usage(tree, kPodParent, 400'000);
  set_usage(tree, kPodDir, 400'000);
  set_usage(tree, container_dir(1), 299'999);
  set_usage(tree, container_dir(2), 99'999);
  ticks.tick();
  tree.remove(kPodDir);
  set_usage(tree, kPodParent, 440'000);
  const auto pod = ticks.tick(true);
  REQUIRE(pod);
  CHECK(*pod->cpu_usage_us == 40'000);
  CHECK(used_by(*pod) == UsedBy{{short_container_id(1), 30'000}, {short_container_id(2), 10'000}});
}

TEST_CASE("a pod whose only cgroup is a container's has that container") {
  const Tree tree;
  const std::string dir =
      "system.slice/kubepods-burstable-pod11111111_2222_3333_4444_000000000001.slice:cri-containerd:" +
      container_id_of(7);
  set_usage(tree, dir, 0);
  PodTicks ticks(tree);
  ticks.tick();
  set_usage(tree, dir, 9000);
  const auto pod = ticks.tick();
  REQUIRE(pod);
  CHECK(used_by(*pod) == UsedBy{{short_container_id(7), 9000}});
}

TEST_CASE("cgroups below a service are not containers") {
  const Tree tree;
  set_usage(tree, "system.slice/docker.service", 0);
  set_usage(tree, "system.slice/docker.service/" + container_id_of(1), 0);
  PodTicks ticks(tree);
  ticks.tick();
  set_usage(tree, "system.slice/docker.service", 9000);
  set_usage(tree, "system.slice/docker.service/" + container_id_of(1), 9000);
  ticks.tick();
  for (const WorkloadValues& each : ticks.readings.workloads) CHECK(each.containers.empty());
}

TEST_CASE("for any counters, containers have at most their pod's usage, and all of it if one has ended") {
  CHECK(rc::check([] {
    std::vector<std::string> ids;
    const auto count = *rc::gen::inRange<std::size_t>(0, 90);
    for (std::size_t i = 0; i < count; ++i) ids.push_back(container_id_of(*rc::gen::inRange(0, 60)));
    std::vector<ContainerUse> uses;
    bool ended = false;
    for (const std::string& id : ids) {
      uses.push_back({id, *rc::gen::inRange<std::uint64_t>(0, 5'000'000), *rc::gen::arbitrary<bool>(),
                      *rc::gen::arbitrary<bool>()});
      ended = ended || uses.back().ended;
    }
    const auto gain_us = *rc::gen::inRange<std::uint64_t>(0, 20'000'000);
    std::vector<ContainerValues> out;
    settle_containers(uses, gain_us, out);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      RC_ASSERT(out[i].cpu_usage_us > 0);
      RC_ASSERT(out[i].id.size() == kContainerIdBytes);
      if (i > 0) RC_ASSERT(out[i - 1].cpu_usage_us >= out[i].cpu_usage_us);
      sum += out[i].cpu_usage_us;
    }
    RC_ASSERT(sum <= gain_us);
    RC_ASSERT(out.size() <= kMaxContainers);
    if (ended) RC_ASSERT(sum == gain_us);
  }));
}

TEST_CASE("over days of restarts and ends, containers and rest add up to the pod to the microsecond and microjoule") {
  CHECK(rc::check([] {
    const Tree tree;
    CgroupTreeOptions options;
    options.full_every = 1;
    PodTicks ticks(tree, options);
    Attributor attributor;
    std::uint64_t pod_us = 0;                     // the pod's counter
    std::map<int, std::uint64_t> living{{1, 0}};  // living containers and their counters
    int next = 2;
    std::map<std::string, std::uint64_t> truth_us, reported_us;  // over all ticks
    std::uint64_t pod_reported_us = 0, pod_uj = 0, containers_uj = 0, rest_uj = 0;
    const auto write = [&] {
      set_usage(tree, kPodDir, pod_us);
      for (const auto& each : living) set_usage(tree, container_dir(each.first), each.second);
    };
    write();
    ticks.tick();
    for (int tick = 0; tick < 12; ++tick) {
      for (auto& each : living) {
        const auto more = *rc::gen::inRange<std::uint64_t>(0, 900'000);
        each.second += more;
        pod_us += more;
        truth_us[short_container_id(each.first)] += more;
      }
      const bool ends = living.size() > 1 && *rc::gen::inRange(0, 3) == 0;
      if (ends) {
        tree.remove(container_dir(living.begin()->first));
        living.erase(living.begin());
      }
      if (living.size() < 4 && *rc::gen::inRange(0, 2) == 0) living[next++] = 0;
      write();
      auto pod = ticks.tick();
      RC_ASSERT(pod.has_value());
      pod->energy_uj = *rc::gen::inRange<std::uint64_t>(0, 90'000'000);
      attributor.attribute_below(*pod);
      std::uint64_t sum_us = 0, sum_uj = 0;
      for (const ContainerValues& each : pod->containers) {
        reported_us[each.id] += each.cpu_usage_us;
        sum_us += each.cpu_usage_us;
        sum_uj += each.energy_uj.value();
      }
      RC_ASSERT(sum_us <= pod->cpu_usage_us.value());
      RC_ASSERT(sum_uj <= pod->energy_uj.value());
      pod_reported_us += pod->cpu_usage_us.value();
      pod_uj += pod->energy_uj.value();
      containers_uj += sum_uj;
      rest_uj += pod->energy_uj.value() - sum_uj;
    }
    // Each microsecond belongs to one container, possibly an ended one, and was reported once.
    RC_ASSERT(pod_reported_us == pod_us);
    std::erase_if(truth_us, [](const auto& each) { return each.second == 0; });
    RC_ASSERT(reported_us == truth_us);
    RC_ASSERT(containers_uj + rest_uj == pod_uj);
  }));
}

TEST_CASE("a pod's energy goes to its containers by CPU time, and the rest stays the pod's") {
  Attributor attributor;
  WorkloadValues pod;
  pod.cpu_usage_us = 1000;
  pod.energy_uj = 10'001;
  pod.containers = {{"a", 600, {}}, {"b", 300, {}}};
  attributor.attribute_below(pod);
  CHECK(pod.containers[0].energy_uj == 6001);
  CHECK(pod.containers[1].energy_uj == 3000);
  pod.energy_uj.reset();
  pod.containers = {{"a", 600, {}}};
  attributor.attribute_below(pod);
  CHECK_FALSE(pod.containers[0].energy_uj.has_value());
}
