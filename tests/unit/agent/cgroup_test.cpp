#include "agent/collect/cgroup.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/resource.h>

#include <algorithm>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
const std::string kBurstable = "kubepods.slice/kubepods-burstable.slice";
std::string pod_dir(int n) {
  return kBurstable + "/kubepods-burstable-pod11111111_2222_3333_4444_00000000000" + std::to_string(n) + ".slice";
}
std::string uid(int n) { return "11111111-2222-3333-4444-00000000000" + std::to_string(n); }

void use(const Tree& tree, const std::string& dir, std::uint64_t usage_us) {
  tree.put(dir + "/cpu.stat", "usage_usec " + std::to_string(usage_us) + "\nuser_usec 0\nsystem_usec 0\n");
}

// Ticks of one second on a manual clock.
struct Collector {
  explicit Collector(const Tree& tree, CgroupTreeOptions options = {})
      : collector(CgroupTree::open_(std::move(*Dir::open_(tree.path())), std::move(options))) {}
  const CgroupReadings& tick() {
    clock.advance(1s);
    collector.read(readings, clock, 4, scratch);
    return readings;
  }
  struct Reading {
    WorkloadValues values;
    WorkloadCounters raw;
  };
  std::optional<Reading> find(const std::string& name, bool ended = false) const {
    for (std::size_t i = 0; i < readings.workloads.size(); ++i)
      if (readings.workloads[i].name == name && readings.workloads[i].ended == ended)
        return Reading{readings.workloads[i], readings.counters[i]};
    return std::nullopt;
  }
  CgroupCollector collector;
  CgroupReadings readings;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
};
}  // namespace

TEST_CASE("the first reading of an existing cgroup gives counters without usage; the second gives both") {
  const Tree tree;
  use(tree, pod_dir(1), 5'000'000);
  tree.put(pod_dir(1) + "/memory.current", "4096\n");
  tree.put(pod_dir(1) + "/pids.current", "3\n");
  tree.put(pod_dir(1) + "/io.stat", "8:0 rbytes=100 wbytes=10 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2\n");
  tree.put(pod_dir(1) + "/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
  Collector c(tree);
  c.tick();
  auto pod = c.find(uid(1));
  REQUIRE(pod.has_value());
  CHECK_FALSE(pod->values.cpu_usage_us.has_value());
  CHECK(*pod->raw.cpu_usage_us == 5'000'000);
  CHECK(*pod->values.memory_bytes == 4096);
  CHECK(*pod->values.pids == 3);
  CHECK_FALSE(pod->values.io_read_bytes.has_value());
  CHECK(pod->raw.io->read_bytes == 101);

  use(tree, pod_dir(1), 5'250'000);
  tree.put(pod_dir(1) + "/io.stat", "8:0 rbytes=300 wbytes=10\n8:16 rbytes=1 wbytes=9\n");
  tree.put(pod_dir(1) + "/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=251000\n");
  c.tick();
  pod = c.find(uid(1));
  REQUIRE(pod.has_value());
  CHECK(*pod->values.cpu_usage_us == 250'000);
  CHECK(*pod->values.io_read_bytes == 200);
  CHECK(*pod->values.io_write_bytes == 7);
  CHECK(*pod->values.pressure.cpu_some_ratio == doctest::Approx(0.25));
  CHECK_FALSE(pod->values.pressure.memory_some_ratio.has_value());
}

TEST_CASE("files that the kernel does not offer leave their values absent") {
  const Tree tree;
  use(tree, pod_dir(1), 1);
  Collector c(tree);
  c.tick();
  const auto pod = c.find(uid(1));
  REQUIRE(pod.has_value());
  CHECK_FALSE(pod->values.memory_bytes.has_value());
  CHECK_FALSE(pod->values.pids.has_value());
  CHECK_FALSE(pod->raw.io.has_value());
}

TEST_CASE("a cgroup that is created within the interval counts from its creation, unless its counter is impossible") {
  const Tree tree;
  use(tree, pod_dir(1), 0);
  Collector c(tree);
  c.tick();
  use(tree, pod_dir(2), 30'000);
  use(tree, pod_dir(3), 60'000'000);  // a minute of CPU time within a second on four cores
  c.tick();
  REQUIRE(c.find(uid(2)).has_value());
  CHECK(*c.find(uid(2))->values.cpu_usage_us == 30'000);
  REQUIRE(c.find(uid(3)).has_value());
  CHECK_FALSE(c.find(uid(3))->values.cpu_usage_us.has_value());
}

TEST_CASE("a cgroup recreated under its old path is a new one: the old one ends and no rate spans both") {
  const Tree tree;
  use(tree, pod_dir(1), 9'000'000);
  CgroupTreeOptions options;
  options.full_every = 1;  // a kept descriptor learns of its removed directory only from the kernel
  Collector c(tree, options);
  c.tick();
  const auto old_id = c.find(uid(1))->values.cgroup_id;
  use(tree, "new", 20'000);  // created before the old one is removed, so that the inode differs
  tree.remove(pod_dir(1));
  std::filesystem::rename(std::filesystem::path(tree.path()) / "new", std::filesystem::path(tree.path()) / pod_dir(1));
  c.tick();
  const auto living = c.find(uid(1));
  const auto ended = c.find(uid(1), true);
  REQUIRE(living.has_value());
  REQUIRE(ended.has_value());
  CHECK(ended->values.cgroup_id == old_id);
  CHECK(living->values.cgroup_id != old_id);
  CHECK(*living->values.cpu_usage_us == 20'000);
  use(tree, pod_dir(1), 50'000);
  c.tick();
  CHECK(*c.find(uid(1))->values.cpu_usage_us == 30'000);
  CHECK_FALSE(c.find(uid(1), true).has_value());
}

TEST_CASE("an ended workload gets what its parent counted beyond the living ones") {
  const Tree tree;
  use(tree, kBurstable, 10'000'000);
  use(tree, pod_dir(1), 4'000'000);
  use(tree, pod_dir(2), 6'000'000);
  tree.put(pod_dir(2) + "/memory.current", "777\n");
  Collector c(tree);
  c.tick();
  use(tree, kBurstable, 10'500'000);
  use(tree, pod_dir(1), 4'100'000);
  tree.remove(pod_dir(2));
  c.tick();
  const auto ended = c.find(uid(2), true);
  REQUIRE(ended.has_value());
  CHECK(*ended->values.cpu_usage_us == 400'000);
  CHECK(*ended->values.memory_bytes == 777);  // the last value
  CHECK(*c.find(uid(1))->values.cpu_usage_us == 100'000);
  c.tick();
  CHECK_FALSE(c.find(uid(2), true).has_value());
}

TEST_CASE("usage of several that ended together is divided exactly in their earlier proportions") {
  const Tree tree;
  use(tree, kBurstable, 0);
  use(tree, pod_dir(1), 0);
  use(tree, pod_dir(2), 0);
  Collector c(tree);
  c.tick();
  use(tree, kBurstable, 400'000);
  use(tree, pod_dir(1), 300'000);
  use(tree, pod_dir(2), 100'000);
  c.tick();
  use(tree, kBurstable, 500'001);
  tree.remove(pod_dir(1));
  tree.remove(pod_dir(2));
  c.tick();
  const auto first = *c.find(uid(1), true)->values.cpu_usage_us, second = *c.find(uid(2), true)->values.cpu_usage_us;
  CHECK(first + second == 100'001);
  CHECK(first > 2 * second);
}

TEST_CASE("usage reported for an ended sibling is not reported again for a new one, as far as their parent shows") {
  const Tree tree;
  use(tree, kBurstable, 1'000'000);
  use(tree, pod_dir(1), 1'000'000);
  Collector c(tree);
  c.tick();
  // Pod 1 ended; pod 2 started after its parent was listed, and ran before its parent was read.
  use(tree, kBurstable, 1'300'000);
  tree.remove(pod_dir(1));
  c.tick();
  CHECK(*c.find(uid(1), true)->values.cpu_usage_us == 300'000);
  use(tree, kBurstable, 1'350'000);
  use(tree, pod_dir(2), 250'000);
  c.tick();
  CHECK(*c.find(uid(2))->values.cpu_usage_us == 50'000);
  use(tree, kBurstable, 1'400'000);
  use(tree, pod_dir(2), 300'000);
  c.tick();
  CHECK(*c.find(uid(2))->values.cpu_usage_us == 50'000);
}

TEST_CASE("slow files are read every five seconds; I/O in between is reported once, and nothing is lost") {
  const Tree tree;
  use(tree, pod_dir(1), 0);
  const auto io = [&](int bytes) {
    tree.put(pod_dir(1) + "/io.stat", "8:0 rbytes=" + std::to_string(bytes) + " wbytes=0\n");
    tree.put(pod_dir(1) + "/memory.events",
             "low 0\nhigh " + std::to_string(bytes / 10) + "\nmax 0\noom 0\noom_kill 2\n");
    tree.put(pod_dir(1) + "/memory.stat", "anon " + std::to_string(bytes) + "\nfile 7\n");
  };
  io(0);
  Collector c(tree);
  c.tick();
  std::uint64_t reported = 0, high = 0;
  int times = 0;
  for (int second = 1; second <= 21; ++second) {
    io(second * 100);
    use(tree, pod_dir(1), static_cast<std::uint64_t>(second));
    c.tick();
    const auto pod = c.find(uid(1));
    REQUIRE(pod.has_value());
    CHECK(pod->values.memory_anon_bytes.has_value());
    CHECK(*pod->values.memory_file_bytes == 7);
    if (!pod->values.io_read_bytes) continue;
    reported += *pod->values.io_read_bytes;
    high += *pod->values.memory_high_events;
    CHECK(*pod->values.memory_oom_kills == 0);
    CHECK(*pod->values.memory_anon_bytes == static_cast<std::uint64_t>(second) * 100);
    ++times;
  }
  CHECK(times == 5);
  CHECK(reported == 2100);
  CHECK(high == 210);
}

TEST_CASE("throttled time is reported for the interval if the controller is enabled") {
  const Tree tree;
  const auto put = [&](int throttled) {
    tree.put(pod_dir(1) + "/cpu.stat",
             "usage_usec 5\nnr_throttled 1\nthrottled_usec " + std::to_string(throttled) + "\n");
  };
  put(1000);
  use(tree, pod_dir(2), 1);
  Collector c(tree);
  c.tick();
  CHECK_FALSE(c.find(uid(1))->values.cpu_throttled_us.has_value());
  put(1500);
  c.tick();
  CHECK(*c.find(uid(1))->values.cpu_throttled_us == 500);
  CHECK_FALSE(c.find(uid(2))->values.cpu_throttled_us.has_value());
}

TEST_CASE("a pod's throttling includes that of its containers, also of new ones") {
  // Containers that are reported separately, and cgroups that are not.
  for (const std::string& id : {std::string("a"), std::string(64, 'a')}) {
    CAPTURE(id);
    const Tree tree;
    const auto put = [&](const std::string& below, int used, int throttled) {
      tree.put(pod_dir(1) + below + "/cpu.stat",
               "usage_usec " + std::to_string(used) + "\nthrottled_usec " + std::to_string(throttled) + "\n");
    };
    const std::string container = "/cri-containerd-" + id + ".scope";
    put("", 5, 100);
    put(container, 5, 1000);
    put(container + "/inner", 5, 0);
    use(tree, pod_dir(2), 1);
    Collector c(tree);
    c.tick();
    CHECK_FALSE(c.find(uid(1))->values.cpu_throttled_us.has_value());
    put("", 25, 110);
    put(container, 25, 1500);
    put(container + "/inner", 25, 7);
    c.tick();
    CHECK(*c.find(uid(1))->values.cpu_throttled_us == 517);
    put("", 45, 110);
    put("/cri-containerd-" + std::string(id.size(), 'b') + ".scope", 20, 40);
    c.tick();
    CHECK(*c.find(uid(1))->values.cpu_throttled_us == 40);
    CHECK_FALSE(c.find(uid(2))->values.cpu_throttled_us.has_value());
    c.tick();
    CHECK(*c.find(uid(1))->values.cpu_throttled_us == 0);
  }
}

TEST_CASE("a unit that contains pods has its usage without theirs, and stays a workload as they start and end") {
  const Tree tree;
  const std::string unit = "system.slice/kind.service",
                    pod = unit + "/kubepods/pod11111111-2222-3333-4444-000000000001";
  use(tree, "system.slice", 100);
  use(tree, unit, 100);
  CgroupTreeOptions options;
  options.full_every = 1;
  Collector c(tree, options);
  c.tick();
  use(tree, pod, 30'000);
  use(tree, unit + "/kubepods", 30'000);
  use(tree, unit, 100'100);
  use(tree, "system.slice", 100'100);
  c.tick();
  CHECK(c.find("kind.service")->values.cpu_usage_us == 70'000U);
  CHECK(c.find(uid(1))->values.cpu_usage_us == 30'000U);
  CHECK((c.find(uid(1))->values.kind == WorkloadKind::pod));  // not within another pod
  tree.remove(pod);
  use(tree, unit + "/kubepods", 40'000);
  use(tree, unit, 150'100);
  use(tree, "system.slice", 150'100);
  c.tick();
  CHECK(c.find("kind.service")->values.cpu_usage_us == 40'000U);
  CHECK(c.find(uid(1), true)->values.cpu_usage_us == 10'000U);
  CHECK_FALSE(c.find("kind.service", true).has_value());
}

TEST_CASE("containers belong to their pod and units to the outermost unit; a pod is a workload at any depth") {
  const std::string id(64, 'a');
  const std::string outer = "kubepods/pod11111111-2222-3333-4444-000000000009";
  const std::string inner = outer + "/" + id + "/kubelet/kubepods/pod11111111-2222-3333-4444-000000000008";
  const Tree tree;
  use(tree, inner + "/" + id, 1);
  use(tree, inner, 1);
  use(tree, outer, 1);
  use(tree, pod_dir(1) + "/cri-containerd-" + id + ".scope", 1);
  use(tree, pod_dir(1), 1);
  use(tree, "system.slice/ssh.service/inner.service", 1);
  use(tree, "system.slice/ssh.service", 1);
  use(tree, "system.slice/tmp.mount", 1);
  use(tree, "docker/" + id, 1);
  Collector c(tree);
  std::vector<std::string> names;
  for (const auto& one : c.tick().workloads) names.push_back(one.name);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{uid(1), "11111111-2222-3333-4444-000000000008",
                                          "11111111-2222-3333-4444-000000000009", id, "ssh.service"});
}

TEST_CASE("usage of a Kata sandbox outside its pod's cgroup is the pod's, whichever appears first") {
  const std::string sandbox(64, 'd'), other(64, 'e');
  for (const std::string& name :
       {"cri-containerd-" + sandbox + ".scope", "kata_" + sandbox, "kata_cri-containerd-" + sandbox + ".scope"}) {
    CAPTURE(name);
    const Tree tree;
    use(tree, "kata_overhead/" + other, 10);
    use(tree, "kata_overhead/" + sandbox, 1'000'000);
    Collector c(tree);
    c.tick();
    CHECK(c.find(sandbox)->values.kind == WorkloadKind::other);
    use(tree, pod_dir(1) + "/" + name, 1'000);
    use(tree, pod_dir(1), 1'000);
    c.tick();
    use(tree, "kata_overhead/" + sandbox, 1'980'000);
    use(tree, pod_dir(1), 21'000);
    c.tick();
    std::uint64_t of_pod_us = 0;
    for (const auto& one : c.readings.workloads)
      if (one.name == uid(1)) of_pod_us += one.cpu_usage_us.value_or(0);
    CHECK(of_pod_us == 1'000'000);
    CHECK_FALSE(c.find(sandbox).has_value());
    CHECK(c.find(other)->values.kind == WorkloadKind::other);  // no pod has this sandbox
  }
}

TEST_CASE("children of a configured path are pods, named by their directory") {
  const Tree tree;
  use(tree, "jobs/render-7", 1);
  CgroupTreeOptions options;
  options.pod_parents = {"/jobs"};
  Collector c(tree, options);
  c.tick();
  REQUIRE(c.find("render-7").has_value());
  CHECK(c.find("render-7")->values.kind == WorkloadKind::pod);
}

TEST_CASE("running out of descriptors ends no workload, is reported, and ends when descriptors are available again") {
  const Tree tree;
  use(tree, pod_dir(1), 100);
  CgroupTreeOptions options;
  options.full_every = 1;  // lists every directory at every tick
  Collector c(tree, options);
  c.tick();
  REQUIRE(c.find(uid(1)).has_value());
  CHECK_FALSE(c.collector.tree().truncated());
  use(tree, pod_dir(1), 300);
  tree.put(pod_dir(2) + "/cpu.stat", "usage_usec 7\n");
  {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit none = before;
    none.rlim_cur = 0;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    c.tick();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  }
  CHECK(c.collector.tree().truncated());
  CHECK_FALSE(c.find(uid(1), true).has_value());
  REQUIRE(c.find(uid(1)).has_value());
  CHECK(c.find(uid(1))->values.cpu_usage_us == 200);  // kept descriptors still work
  c.tick();
  CHECK_FALSE(c.collector.tree().truncated());
  CHECK(c.find(uid(2)).has_value());
}

TEST_CASE("a name that is not UTF-8 is made valid, because the controller would refuse every batch with it") {
  const Tree tree;
  use(tree, "app-\xff\xfe.scope", 100);
  Collector c(tree);
  c.tick();
  CHECK(c.find("app-??.scope").has_value());
}

TEST_CASE("a tree above its limit is truncated and reported") {
  const Tree tree;
  for (int i = 0; i < 10; ++i) use(tree, "jobs/j" + std::to_string(i), 1);
  CgroupTreeOptions options;
  options.max_cgroups = 5;
  Collector c(tree, options);
  c.tick();
  CHECK(c.collector.tree().truncated());
  CHECK(c.collector.tree().size() == 5);
}

TEST_CASE("the lines of cpu.stat, memory.stat and memory.events are found by their whole names") {
  const CpuTotals cpu = parse_cpu_stat("usage_usec 12\nuser_usec 7\nnr_throttled 3\nthrottled_usec 9\n");
  CHECK(*cpu.usage_us == 12);
  CHECK(*cpu.throttled_us == 9);
  CHECK_FALSE(parse_cpu_stat("usage_usec -1\nuser_usec 7").usage_us.has_value());
  const MemoryUse use = parse_memory_stat("anon 5\nanon_thp 1\nfile_mapped 3\nfile 8\n");
  CHECK(*use.anon_bytes == 5);
  CHECK(*use.file_bytes == 8);
  const MemoryEvents events = parse_memory_events("oom_group_kill 4\noom 1\nhigh 6\n");
  CHECK(*events.high == 6);
  CHECK_FALSE(events.oom_kills.has_value());
}

TEST_CASE("malformed io.stat lines count nothing, and garbage is harmless") {
  CHECK(parse_io_stat("8:0 rbytes=x wbytes=1\n8:1 rbytes=2 wbytes=3\n8:2\n").read_bytes == 2);
  CHECK(parse_io_stat("").write_bytes == 0);
  CHECK(rc::check([](const std::string& text) { parse_io_stat("8:0 rbytes=" + text + " wbytes=1"); }));
}
