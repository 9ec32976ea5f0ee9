// Pods that are only on cgroup v1: trees of both cgroup drivers (tests/fixtures/agent/v1-*.txt), missing controllers,
// counters, pods that come and go, and the change from v2.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "agent/collect/cgroup.hpp"
#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/node_cgroup.hpp"
#include "agent/connection_latency.hpp"
#include "agent/sampler.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
const std::string kCgroup = "sys/fs/cgroup/";
const std::string kBusyUid = "0b5c1f6e-93ab-4b06-9d0b-0c5a0e1f7a11", kOtherUid = "7f0e2f33-6c55-4f0a-8a5e-5d1c3c2b9b22";

struct V1Machine {
  std::string fixture, cpu, cpuacct;  // folders of these controllers
  std::string busy, other;            // pods
  std::string container_before, container_after;
};
const V1Machine kCgroupfs{"v1-cgroupfs.txt",
                          "cpu",
                          "cpuacct",
                          "kubepods/burstable/pod0b5c1f6e-93ab-4b06-9d0b-0c5a0e1f7a11",
                          "kubepods/pod7f0e2f33-6c55-4f0a-8a5e-5d1c3c2b9b22",
                          "",
                          ""};
const V1Machine kSystemd{"v1-systemd.txt",
                         "cpu,cpuacct",
                         "cpu,cpuacct",
                         "kubepods.slice/kubepods-burstable.slice/"
                         "kubepods-burstable-pod0b5c1f6e_93ab_4b06_9d0b_0c5a0e1f7a11.slice",
                         "kubepods.slice/kubepods-pod7f0e2f33_6c55_4f0a_8a5e_5d1c3c2b9b22.slice",
                         "cri-containerd-",
                         ".scope"};

std::string repeated(const std::string& two) {
  std::string all;
  for (int i = 0; i < 32; ++i) all += two;
  return all;
}

// Mounts each controller apart, except cpu and cpuacct if they share a folder; `without` is not mounted.
std::string v1_mounts(const V1Machine& machine, const std::string& without = "") {
  std::string out;
  for (const std::string name : {"cpu", "cpuacct", "memory", "blkio", "pids"}) {
    const std::string folder = name == "cpu" ? machine.cpu : name == "cpuacct" ? machine.cpuacct : name;
    if (name == without) continue;
    out += "3 1 0:3 / /sys/fs/cgroup/" + folder + " rw,nosuid - cgroup cgroup rw," + name + "\n";
  }
  return out;
}

AgentConfig v1_config(const Tree& tree) {
  AgentConfig config;
  config.node = "n1";
  config.roots = Roots::below(tree.path());
  return config;
}

void put_proc(const Tree& tree) {
  tree.put("proc/stat", "cpu  90000 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");
  tree.put("proc/meminfo", "MemTotal: 24654948 kB\nMemAvailable: 12000000 kB\n");
}

void lay_out_v1(const Tree& tree, const V1Machine& machine, const std::string& without = "") {
  tree.lay_out(machine.fixture);
  tree.put("proc/self/mountinfo", v1_mounts(machine, without));
  put_proc(tree);
}

std::string text_of_file(const Tree& tree, const std::string& name) {
  std::ifstream in(tree.path() + "/" + kCgroup + name);
  std::string all{std::istreambuf_iterator<char>(in), {}};
  return all.substr(0, all.find_last_not_of('\n') + 1);
}

std::string shown(std::optional<std::uint64_t> value) { return value ? std::to_string(*value) : "-"; }

// Values of each pod by name: those of the last reading, counters since the creation.
std::map<std::string, std::map<std::string, std::string>> pods_of(const Sample& sample) {
  std::map<std::string, std::map<std::string, std::string>> out;
  for (std::size_t i = 0; i < sample.record.workloads.size(); ++i) {
    const WorkloadValues& pod = sample.record.workloads[i];
    const WorkloadCounters& raw = sample.workloads[i];
    out[pod.name] = {{"cpuacct", shown(raw.cpu_usage_us)},
                     {"cpu", shown(raw.cpu_throttled_us)},
                     {"memory", shown(pod.memory_bytes)},
                     {"anon", shown(pod.memory_anon_bytes)},
                     {"pids", shown(pod.pids)},
                     {"blkio", shown(raw.io ? std::optional(raw.io->read_bytes) : std::nullopt)}};
    CHECK_FALSE(pod.pressure.cpu_some_ratio.has_value());
    CHECK_FALSE(raw.pressure.memory.some_us.has_value());
    CHECK_FALSE(pod.memory_oom_kills.has_value());
    CHECK_FALSE(pod.kernel.on_cpu_us.has_value());
  }
  return out;
}

// A tree of cgroup v1 with all controllers in one folder.
struct V1Ticks {
  explicit V1Ticks(const Tree& files) : tree(&files) {
    tree->put("proc/self/mountinfo",
              "3 1 0:3 / /sys/fs/cgroup/all rw - cgroup cgroup rw,cpu,cpuacct,memory,blkio,pids\n");
    put("", 0);
    CgroupTreeOptions options;
    options.v1 = true;
    options.full_every = 1;
    collector.emplace(CgroupTree::open_(std::move(*Dir::open_(tree->path() + "/sys/fs/cgroup/all")), options));
    collector->use_v1(CgroupV1::open_(Roots::below(tree->path())));
  }
  void put(const std::string& path, std::uint64_t usage_us) const {
    tree->put("sys/fs/cgroup/all" + path + "/cpuacct.usage", std::to_string(usage_us * 1000) + "\n");
  }
  void put(const std::string& path, const std::string& file, const std::string& text) const {
    tree->put("sys/fs/cgroup/all" + path + "/" + file, text);
  }
  void remove(const std::string& path) const { tree->remove("sys/fs/cgroup/all" + path); }
  void tick() {
    clock.advance(1s);
    collector->read(readings, clock, 4, scratch);
  }
  const WorkloadValues* find(const std::string& name, bool ended = false) const {
    for (const WorkloadValues& each : readings.workloads)
      if (each.name == name && each.ended == ended) return &each;
    return nullptr;
  }
  const Tree* tree;
  std::optional<CgroupCollector> collector;
  CgroupReadings readings;
  ManualClock clock;
  std::vector<char> scratch = std::vector<char>(4096);
};

std::string uid_of(int n) { return "11111111-2222-3333-4444-00000000000" + std::to_string(n); }
std::string pod_path(int n) { return "/kubepods/burstable/pod" + uid_of(n); }
}  // namespace

TEST_CASE("pods of cgroup v1 have CPU time, throttling, memory, pids and disk I/O, with both cgroup drivers") {
  for (const V1Machine& machine : {kCgroupfs, kSystemd}) {
    CAPTURE(machine.fixture);
    const Tree tree;
    lay_out_v1(tree, machine);
    ManualClock clock;
    auto sampler = Sampler::open_(v1_config(tree), clock, 1);
    REQUIRE(sampler.has_value());
    sampler->tick();
    const auto pods = pods_of(sampler->tick());
    REQUIRE(pods.size() == 2);
    for (const auto& [uid, path] : {std::pair{kBusyUid, machine.busy}, std::pair{kOtherUid, machine.other}}) {
      const auto& pod = pods.at(uid);
      CHECK(pod.at("cpuacct") ==
            std::to_string(std::stoull(text_of_file(tree, machine.cpuacct + "/" + path + "/cpuacct.usage")) / 1000));
      CHECK(std::stoull(pod.at("cpuacct")) > 10'000);
      CHECK(pod.at("cpu") == "0");  // the containers have limits, not the pod
      CHECK(pod.at("memory") == text_of_file(tree, "memory/" + path + "/memory.usage_in_bytes"));
      CHECK(text_of_file(tree, "memory/" + path + "/memory.stat").find("total_rss " + pod.at("anon") + "\n") !=
            std::string::npos);
      CHECK(pod.at("pids") == text_of_file(tree, "pids/" + path + "/pids.current"));
      CHECK(pod.at("blkio") == "262144");
    }
    CHECK(pods.at(kBusyUid).at("pids") == "2");

    const std::string container = machine.container_before + repeated("c1") + machine.container_after;
    tree.put(kCgroup + machine.cpuacct + "/" + machine.busy + "/cpuacct.usage",
             std::to_string((std::stoull(pods.at(kBusyUid).at("cpuacct")) + 250'000) * 1000) + "\n");
    tree.put(kCgroup + machine.cpuacct + "/" + machine.busy + "/" + container + "/cpuacct.usage", "9000000000\n");
    clock.advance(1s);
    const Sample& sample = sampler->tick();
    for (const WorkloadValues& pod : sample.record.workloads) {
      CHECK(pod.cgroup_id >= kV1_id);
      if (pod.name != kBusyUid) continue;
      CHECK(pod.kind == WorkloadKind::pod);
      CHECK(pod.cpu_usage_us == 250'000);
      REQUIRE(pod.containers.size() == 1);
      CHECK(pod.containers[0].id == repeated("c1").substr(0, kContainerIdBytes));
    }
    CHECK(sampler->pods().size() == 2);
  }
}

TEST_CASE("a controller of cgroup v1 that is missing leaves only its own values unknown") {
  const std::map<std::string, std::vector<std::string>> values{{"cpu", {"cpu"}},
                                                               {"cpuacct", {"cpuacct"}},
                                                               {"memory", {"memory", "anon"}},
                                                               {"blkio", {"blkio"}},
                                                               {"pids", {"pids"}}};
  const auto look = [](const std::string& without) {
    const Tree tree;
    lay_out_v1(tree, kCgroupfs, without);
    if (!without.empty()) tree.remove(kCgroup + without);
    ManualClock clock;
    auto sampler = Sampler::open_(v1_config(tree), clock, 1);
    REQUIRE(sampler.has_value());
    sampler->tick();
    return pods_of(sampler->tick());
  };
  const auto all = look("");
  for (const auto& entry : values) {
    CAPTURE(entry.first);
    auto expected = all;
    for (auto& [uid, pod] : expected)
      for (const std::string& value : entry.second) pod[value] = "-";
    CHECK(look(entry.first) == expected);
  }
}

TEST_CASE("usage of cgroup v1 has no rate across a counter that went back, a start within the interval or an end") {
  const Tree tree;
  V1Ticks ticks(tree);
  ticks.put("/kubepods", 10'000);
  ticks.put("/kubepods/burstable", 10'000);
  ticks.put(pod_path(1), 4'000);
  ticks.put(pod_path(2), 6'000);
  ticks.put(pod_path(2), "memory.usage_in_bytes", "777\n");
  ticks.tick();
  CHECK_FALSE(ticks.find(uid_of(1))->cpu_usage_us.has_value());
  ticks.put(pod_path(1), 3'999);
  ticks.tick();
  CHECK_FALSE(ticks.find(uid_of(1))->cpu_usage_us.has_value());
  ticks.put("/kubepods/burstable", 10'600);
  ticks.put(pod_path(1), 4'099);
  ticks.put(pod_path(3), 200);
  ticks.remove(pod_path(2));
  ticks.tick();
  CHECK(ticks.find(uid_of(1))->cpu_usage_us == 100);
  CHECK(ticks.find(uid_of(3))->cpu_usage_us == 200);
  CHECK(ticks.find(uid_of(2)) == nullptr);
  REQUIRE(ticks.find(uid_of(2), true) != nullptr);
  CHECK(ticks.find(uid_of(2), true)->cpu_usage_us == 300);
  CHECK(ticks.find(uid_of(2), true)->memory_bytes == 777);
}

TEST_CASE("pods on cgroup v1 that a later kubelet starts are found, unless v2 has pods") {
  for (const bool also_v2 : {false, true}) {
    CAPTURE(also_v2);
    const Tree tree;
    lay_out_v1(tree, kCgroupfs);
    const std::string unified = "4 1 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    for (const char* name : {"cpu", "cpuacct", "memory", "blkio", "pids"}) {
      tree.put(kCgroup + "later/" + name + "/tasks", "");
      std::filesystem::rename(tree.path() + "/" + kCgroup + name + "/kubepods",
                              tree.path() + "/" + kCgroup + "later/" + name + "/kubepods");
    }
    tree.put("proc/self/mountinfo", unified + v1_mounts(kCgroupfs));
    tree.put(kCgroup + "unified/cpu.stat", "usage_usec 5\n");
    tree.put(kCgroup + "unified/system.slice/cron.service/cpu.stat", "usage_usec 1\n");
    ManualClock clock;
    AgentConfig config = v1_config(tree);
    config.nested = true;
    auto sampler = Sampler::open_(config, clock, 1);
    REQUIRE(sampler.has_value());
    CHECK(sampler->tick().record.workloads.at(0).name == "cron.service");
    for (const char* name : {"cpu", "cpuacct", "memory", "blkio", "pids"})
      std::filesystem::rename(tree.path() + "/" + kCgroup + "later/" + name + "/kubepods",
                              tree.path() + "/" + kCgroup + name + "/kubepods");
    if (also_v2) tree.put(kCgroup + "unified/" + kCgroupfs.busy + "/cpu.stat", "usage_usec 1\n");
    std::map<std::string, std::map<std::string, std::string>> pods;
    for (int second = 0; second < 32; ++second) {
      clock.advance(1s);
      const Sample& sample = sampler->tick();
      if (second == 31) pods = pods_of(sample);
      CHECK(sample.lost.has_value() == (second == 29 && !also_v2));
      if (second == 29 && !also_v2) CHECK_FALSE(sample.record.node.cpu_used_cores.has_value());
    }
    CHECK(pods.contains(kOtherUid) == !also_v2);
    CHECK(pods.contains("cron.service") == also_v2);
    CHECK(sampler->pods().size() == (also_v2 ? std::size_t{1} : std::size_t{2}));
  }
}

TEST_CASE("cgroups that pods without processes left behind do not decide between cgroup v1 and v2") {
  const std::string unified = "4 1 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const std::string left = "/kubepods/podaaaaaaaa-2222-3333-4444-000000000001";
  for (const bool v1_pids : {false, true}) {
    for (const bool v1_ended : {false, true}) {
      for (const std::string v2 : {"", "0", "1"}) {
        CAPTURE(v1_pids);
        CAPTURE(v1_ended);
        CAPTURE(v2);
        const Tree tree;
        lay_out_v1(tree, kCgroupfs, v1_pids ? "" : "pids");
        tree.put("proc/self/mountinfo", unified + v1_mounts(kCgroupfs, v1_pids ? "" : "pids"));
        tree.put(kCgroup + "unified/cpu.stat", "usage_usec 5\n");
        tree.put(kCgroup + "cpuacct" + left + "/cpuacct.usage", "7\n");
        tree.put(kCgroup + "pids" + left + "/pids.current", "0\n");
        if (v1_ended)
          for (const std::string& pod : {kCgroupfs.busy, kCgroupfs.other})
            tree.put(kCgroup + "pids/" + pod + "/pids.current", "0\n");
        if (!v2.empty()) {
          tree.put(kCgroup + "unified" + left + "/cpu.stat", "usage_usec 1\n");
          tree.put(kCgroup + "unified" + left + "/cgroup.events", "populated " + v2 + "\nfrozen 0\n");
        }
        const auto top = open_cgroup_top(v1_config(tree).roots);
        REQUIRE(top.has_value());
        CHECK(top->v1 == ((!v1_pids || !v1_ended) && v2 != "1"));
      }
    }
  }
}

TEST_CASE("a nested node on cgroup v1 reports its own cgroup, without pressure, and its connections are not measured") {
  const Tree tree;
  lay_out_v1(tree, kSystemd);
  tree.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000000000\n");
  AgentConfig config = v1_config(tree);
  config.nested = true;
  config.provisioning.connections.push_back({});
  ManualClock clock;
  auto sampler = Sampler::open_(config, clock, 1);
  REQUIRE(sampler.has_value());
  tree.put(kCgroup + "cpu,cpuacct/cpuacct.usage", "4000000000\n");
  tree.put(kCgroup + "memory/memory.usage_in_bytes", "50000\n");
  tree.put(kCgroup + "memory/memory.stat", "inactive_file 7\ntotal_inactive_file 20000\n");
  tree.put(kCgroup + "memory/memory.limit_in_bytes", "1000000\n");
  sampler->tick();
  tree.put(kCgroup + "cpu,cpuacct/cpuacct.usage", "4500000000\n");
  clock.advance(1s);
  const NodeValues& node = sampler->tick().record.node;
  CHECK(*node.cpu_used_cores == doctest::Approx(0.5));
  CHECK(node.memory_used_bytes == 30'000);
  CHECK(node.memory_total_bytes == 1'000'000);
  CHECK_FALSE(node.pressure.cpu_some_ratio.has_value());
  CHECK(ConnectionLatency(config).finding().text().find("cgroup v1") != std::string::npos);
}

TEST_CASE("before Linux 4.16 disk I/O of a cgroup is the sum over it and those below") {
  CHECK(rc::check("sum equals the recursive file", [] {
    const Tree old_kernel, kernel;
    const auto bytes = *rc::gen::container<std::vector<std::uint32_t>>(6, rc::gen::arbitrary<std::uint32_t>());
    const std::vector<std::string> paths{"", "/a", "/a/b", "/a/c", "/a/c/d", "/e"};
    const auto text = [](std::uint64_t sum) { return "8:0 Read " + std::to_string(sum) + "\n8:0 Write 1\nTotal 1\n"; };
    for (const Tree* tree : {&old_kernel, &kernel})
      tree->put("proc/self/mountinfo", "3 1 0:3 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n");
    for (std::size_t i = 0; i < paths.size(); ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < paths.size(); ++j)
        if (paths[j] == paths[i] || paths[j].starts_with(paths[i] + "/")) sum += bytes[j];
      old_kernel.put(kCgroup + "blkio" + paths[i] + "/blkio.throttle.io_service_bytes", text(bytes[i]));
      kernel.put(kCgroup + "blkio" + paths[i] + "/blkio.throttle.io_service_bytes_recursive", text(sum));
    }
    std::vector<char> scratch(4096);
    const auto read = [&](const Tree& tree, const std::string& path) {
      CgroupV1Files files;
      return CgroupV1::open_(Roots::below(tree.path()))->io(files, path, {}, MonoTime{}, scratch)->read_bytes;
    };
    for (const std::string& path : paths) RC_ASSERT(read(old_kernel, path) == read(kernel, path));
  }));
}

TEST_CASE("the usage of pods on cgroup v1, each without the pods within, adds up to the gain of their parent") {
  CHECK(rc::check("conserved", [] {
    const Tree tree;
    V1Ticks ticks(tree);
    const std::string inner = pod_path(1) + "/" + repeated("c1") + "/kubepods/pod" + uid_of(3);
    std::vector<std::uint64_t> own(4, 0);  // pod 1 and its container, pod 2, pod 3 within pod 1
    const auto write = [&] {
      ticks.put(inner, own[3]);
      ticks.put(pod_path(1) + "/" + repeated("c1"), own[1] + own[3]);
      ticks.put(pod_path(1), own[0] + own[1] + own[3]);
      ticks.put(pod_path(2), own[2]);
      ticks.put("/kubepods/burstable", own[0] + own[1] + own[2] + own[3]);
    };
    write();
    ticks.tick();
    for (int step = 0; step < 3; ++step) {
      std::uint64_t gain = 0;
      for (auto& each : own) {
        const auto more = *rc::gen::inRange<std::uint64_t>(0, 500'000);
        each += more;
        gain += more;
      }
      write();
      ticks.tick();
      std::uint64_t sum = 0;
      for (const WorkloadValues& each : ticks.readings.workloads) sum += each.cpu_usage_us.value_or(0);
      RC_ASSERT(sum == gain);
    }
  }));
}

TEST_CASE("files of cgroup v1 with bad content, and files that vanish after the listing, leave values unknown") {
  const Tree tree;
  V1Ticks ticks(tree);
  const std::string pod = pod_path(1);
  const std::vector<std::string> files{"cpuacct.usage", "cpu.stat",     "memory.usage_in_bytes",
                                       "memory.stat",   "pids.current", "blkio.throttle.io_service_bytes"};
  for (const std::string bad :
       {"", "\n", "nothing of use\n", "-1\n", "18446744073709551616\n", "1 2\n", "\xff\xfe\n",
        "total_rss \ntotal_rss x\nthrottled_time 99999999999999999999\n", "8:0 Read\nTotal\n"}) {
    CAPTURE(bad);
    for (const std::string& file : files) ticks.put(pod, file, bad);
    for (int i = 0; i < 6; ++i) {
      ticks.tick();
      REQUIRE(ticks.readings.workloads.size() == 1);
      const WorkloadValues& values = ticks.readings.workloads[0];
      CHECK_FALSE(values.cpu_usage_us.has_value());
      CHECK_FALSE(values.cpu_throttled_us.has_value());
      CHECK_FALSE(values.memory_bytes.has_value());
      CHECK_FALSE(values.memory_anon_bytes.has_value());
      CHECK_FALSE(values.pids.has_value());
      CHECK_FALSE(ticks.readings.counters[0].io.has_value());
    }
  }
  ticks.put(pod, "cpuacct.usage", "18446744073709551615\n");
  ticks.put(pod, "memory.usage_in_bytes", "18446744073709551615\n");
  ticks.tick();
  CHECK(ticks.readings.counters[0].cpu_usage_us == 18'446'744'073'709'551);
  CHECK(ticks.readings.workloads[0].memory_bytes == 18'446'744'073'709'551'615U);
  for (const std::string& file : files) ticks.remove(pod + "/" + file);
  ticks.put(pod_path(2), 5);
  ticks.remove(pod_path(2) + "/cpuacct.usage");
  ticks.tick();
  REQUIRE(ticks.find(uid_of(2)) != nullptr);
  CHECK_FALSE(ticks.find(uid_of(2))->cpu_usage_us.has_value());
}
