// cgroup_nesting: a workload that contains others has only its own usage, and nothing is lost or counted twice.
#include "agent/collect/cgroup_nesting.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "agent/collect/cgroup.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
const std::string kOuterUid = "dc35e999-4467-45c5-92ee-4dd4ae8baa2c";
const std::string kInnerUid = "1e597579-417e-482f-bf65-5fe170c3aebd";
const std::string kOuterDir =
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poddc35e999_4467_45c5_92ee_4dd4ae8baa2c.slice";
const std::string kCiDir = kOuterDir + "/cri-containerd-" + std::string(64, 'c') + ".scope";
const std::string kKubeletDir = kCiDir + "/dind/kubelet.slice/kubelet-kubepods.slice";
const std::string kInnerDir = kKubeletDir + "/kubelet-kubepods-pod1e597579_417e_482f_bf65_5fe170c3aebd.slice";

std::string nested_uid(int n) {
  const std::string digits = std::to_string(n);
  return "99999999-2222-3333-4444-" + std::string(12 - digits.size(), '0') + digits;
}

void used(const Tree& tree, const std::string& dir, std::uint64_t usage_us) {
  tree.put(dir + (dir.empty() ? "cpu.stat" : "/cpu.stat"), "usage_usec " + std::to_string(usage_us) + "\n");
}

// Ticks of one second.
struct NestedTicks {
  explicit NestedTicks(const Tree& tree)
      : collector(CgroupTree::open_(std::move(*Dir::open_(tree.path())), options())) {}
  static CgroupTreeOptions options() {
    CgroupTreeOptions all;
    all.full_every = 1;
    return all;
  }
  void tick(Duration step = 1s) {
    clock.advance(step);
    collector.read(readings, clock, 4, scratch);
  }
  const WorkloadValues* find(const std::string& name, bool ended = false) const {
    for (const WorkloadValues& each : readings.workloads)
      if (each.name == name && each.ended == ended) return &each;
    return nullptr;
  }
  CgroupCollector collector;
  CgroupReadings readings;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
};

// A cgroup whose counter includes its own processes and its ended children.
struct Group {
  std::string dir;
  std::uint64_t own_us = 0, ended_us = 0;
  std::map<std::string, Group> children;

  std::uint64_t total_us() const {
    std::uint64_t sum = own_us + ended_us;
    for (const auto& [name, child] : children) sum += child.total_us();
    return sum;
  }
  void write(const Tree& tree) const {
    used(tree, dir, total_us());
    for (const auto& [name, child] : children) child.write(tree);
  }
  Group& add(const std::string& name) {
    Group child;
    child.dir = dir.empty() ? name : dir + "/" + name;
    return children[name] = child;
  }
  Group& at(std::initializer_list<std::string> path) {
    Group* here = this;
    for (const std::string& name : path)
      here = here->children.contains(name) ? &here->children[name] : &here->add(name);
    return *here;
  }
  void end(const Tree& tree, const std::string& name) {
    ended_us += children.at(name).total_us();
    tree.remove(children.at(name).dir);
    children.erase(name);
  }
};
}  // namespace

TEST_CASE("a pod that runs a cluster has its usage without that of the cluster's pods") {
  const Tree tree;
  const auto at = [&](std::uint64_t n) {
    used(tree, "", 1'000'000 * n);
    used(tree, kOuterDir, 600'000 * n);
    used(tree, kCiDir, 600'000 * n);
    used(tree, kCiDir + "/init", 500'000 * n);
    used(tree, kCiDir + "/dind", 100'000 * n);
    used(tree, kKubeletDir, 100'000 * n);
    used(tree, kInnerDir, 100'000 * n);
  };
  at(1);
  NestedTicks ticks(tree);
  ticks.tick();
  at(2);
  ticks.tick();
  REQUIRE(ticks.readings.workloads.size() == 2);
  const WorkloadValues* outer = ticks.find(kOuterUid);
  const WorkloadValues* inner = ticks.find(kInnerUid);
  REQUIRE(outer != nullptr);
  REQUIRE(inner != nullptr);
  CHECK(outer->cpu_usage_us == 500'000U);
  CHECK(inner->cpu_usage_us == 100'000U);
  CHECK((outer->kind == WorkloadKind::pod));
  CHECK((inner->kind == WorkloadKind::other));  // unknown to the node's own cluster
  REQUIRE(outer->containers.size() == 1);
  CHECK(outer->containers[0].cpu_usage_us == 500'000U);
  CHECK(inner->containers.empty());

  // The inner cluster ends: its remaining usage is its pod's, and the rest the outer pod's.
  tree.remove(kInnerDir);
  used(tree, kKubeletDir, 230'000);
  used(tree, kCiDir + "/dind", 230'000);
  used(tree, kCiDir, 1'900'000);
  used(tree, kOuterDir, 1'900'000);
  ticks.tick();
  REQUIRE(ticks.find(kInnerUid, true) != nullptr);
  CHECK(ticks.find(kInnerUid, true)->cpu_usage_us == 30'000U);
  CHECK(ticks.find(kOuterUid)->cpu_usage_us == 670'000U);
  CHECK(ticks.find(kOuterUid, true) == nullptr);
}

TEST_CASE("a pod's disk bytes exclude those of pods within it; its memory and processes are the whole cgroup's") {
  const Tree tree;
  const auto put = [&](const std::string& dir, int memory, int pids, int bytes) {
    tree.put(dir + "/memory.current", std::to_string(memory) + "\n");
    tree.put(dir + "/memory.stat",
             "anon " + std::to_string(memory / 2) + "\nfile " + std::to_string(memory / 4) + "\n");
    tree.put(dir + "/pids.current", std::to_string(pids) + "\n");
    tree.put(dir + "/io.stat", "8:0 rbytes=" + std::to_string(bytes) + " wbytes=" + std::to_string(2 * bytes) + "\n");
    used(tree, dir, static_cast<std::uint64_t>(bytes));
  };
  put(kOuterDir, 8000, 9, 1000);
  put(kInnerDir, 3200, 4, 400);
  NestedTicks ticks(tree);
  std::uint64_t read_bytes = 0, written_bytes = 0, outer_read = 0;
  for (int n = 1; n <= 12; ++n) {
    put(kOuterDir, 8000, 9, 1000 * n);
    put(kInnerDir, 3200, 4, 400 * n);
    ticks.tick();
    for (const WorkloadValues& each : ticks.readings.workloads) {
      read_bytes += each.io_read_bytes.value_or(0);
      written_bytes += each.io_write_bytes.value_or(0);
      if (each.name == kOuterUid) outer_read += each.io_read_bytes.value_or(0);
    }
  }
  CHECK(ticks.find(kInnerUid)->memory_bytes == 3200U);
  CHECK(ticks.find(kOuterUid)->memory_bytes == 8000U);  // its limit and request cover all of it
  CHECK(ticks.find(kOuterUid)->pids == 9U);
  // Slow files are read every few seconds at different times: no byte is counted twice, whichever is read first.
  CHECK(read_bytes <= 11'000);
  CHECK(read_bytes >= 5'000);
  CHECK(written_bytes == 2 * read_bytes);
  CHECK(outer_read <= read_bytes);
}

TEST_CASE("a Kata pod within a pod owns its sandbox; the outer pod does not") {
  const std::string sandbox(64, 'd');
  const Tree tree;
  const auto at = [&](std::uint64_t n) {
    used(tree, kOuterDir, 900'000 * n);
    used(tree, kCiDir, 900'000 * n);
    used(tree, kCiDir + "/kata_overhead", 700'000 * n);
    used(tree, kCiDir + "/kata_overhead/" + sandbox, 700'000 * n);
    used(tree, kInnerDir, 10'000 * n);
    used(tree, kInnerDir + "/cri-containerd-" + sandbox + ".scope", 10'000 * n);
  };
  at(1);
  NestedTicks ticks(tree);
  ticks.tick();
  at(2);
  ticks.tick();
  std::uint64_t inner_us = 0;
  for (const WorkloadValues& each : ticks.readings.workloads)
    if (each.name == kInnerUid) inner_us += each.cpu_usage_us.value_or(0);
  CHECK(inner_us == 710'000);
  CHECK(ticks.find(kOuterUid)->cpu_usage_us == 190'000U);
}

TEST_CASE("for any nested workloads, each microsecond belongs to one workload, and the outer one has only its own") {
  CHECK(rc::check([] {
    const Tree tree;
    Group top;
    Group& slices = top.at({"kubepods", "burstable"});
    slices.at({"pod" + kOuterUid, std::string(64, 'c'), "kubelet", "kubepods"});
    const std::string kind = "docker-" + std::string(64, 'd') + ".scope";
    top.at({"system.slice", kind, "kubelet", "kubepods"});
    const auto pods_of = [&](int which) -> Group& {
      return which == 0
                 ? top.at({"kubepods", "burstable", "pod" + kOuterUid, std::string(64, 'c'), "kubelet", "kubepods"})
                 : top.at({"system.slice", kind, "kubelet", "kubepods"});
    };
    const auto outers_us = [&] {
      return top.at({"kubepods", "burstable", "pod" + kOuterUid}).total_us() +
             top.at({"system.slice", kind}).total_us();
    };
    int next = 1;
    const auto some = [] { return *rc::gen::inRange<std::uint64_t>(0, 300'000); };
    top.write(tree);
    NestedTicks ticks(tree);
    ticks.tick();
    std::map<std::string, std::uint64_t> own_us, reported_us;
    std::uint64_t before_us = outers_us();
    for (int tick = 0; tick < 10; ++tick) {
      Group& outer = top.at({"kubepods", "burstable", "pod" + kOuterUid});
      Group& kind_node = top.at({"system.slice", kind});
      for (auto& [name, group] : std::map<std::string, Group*>{{kOuterUid, &outer.at({std::string(64, 'c'), "init"})},
                                                               {std::string(64, 'd'), &kind_node.at({"init"})}}) {
        const auto more = some();
        group->own_us += more;
        own_us[name] += more;
      }
      for (const int which : {0, 1}) {
        Group& pods = pods_of(which);
        for (auto& [name, pod] : pods.children) {
          pod.at({std::string(64, 'e')}).own_us += some();
          for (auto& [deeper, third] : pod.at({std::string(64, 'e'), "kubepods"}).children) third.own_us += some();
        }
        if (!pods.children.empty() && *rc::gen::inRange(0, 3) == 0) pods.end(tree, pods.children.begin()->first);
        if (pods.children.size() < 4 && *rc::gen::inRange(0, 2) == 0)
          pods.at({"pod" + nested_uid(next++), std::string(64, 'e')}).own_us += some();
        if (!pods.children.empty()) {
          Group& third = pods.children.begin()->second.at({std::string(64, 'e'), "kubepods"});
          if (third.children.size() < 2) third.at({"pod" + nested_uid(next++)}).own_us += some();
        }
      }
      top.write(tree);
      ticks.tick();
      std::uint64_t sum_us = 0;
      for (const WorkloadValues& each : ticks.readings.workloads) {
        sum_us += each.cpu_usage_us.value_or(0);
        reported_us[each.name] += each.cpu_usage_us.value_or(0);
      }
      RC_ASSERT(sum_us == outers_us() - before_us);
      before_us = outers_us();
    }
    for (const auto& [name, us] : own_us) RC_ASSERT(reported_us[name] == us);
  }));
}

TEST_CASE("usage that an inner counter shows before the outer one is subtracted later and not counted twice") {
  const Tree tree;
  const auto at = [&](std::uint64_t outer_us, std::uint64_t inner_us) {
    used(tree, kOuterDir, outer_us);
    used(tree, kInnerDir, inner_us);
  };
  at(0, 0);
  NestedTicks ticks(tree);
  ticks.tick();
  std::uint64_t outer_us = 0, inner_us = 0;
  const auto tick = [&] {
    ticks.tick();
    outer_us += ticks.find(kOuterUid)->cpu_usage_us.value();
    inner_us += ticks.find(kInnerUid)->cpu_usage_us.value();
  };
  at(50'000, 60'000);
  tick();
  CHECK(outer_us == 0);
  at(160'000, 100'000);
  tick();
  CHECK(inner_us == 100'000);
  CHECK(outer_us == 60'000);
}
