// Cgroups of a real hybrid machine (tests/fixtures/agent/hybrid-node.txt): a Kubernetes node that shares its kernel with two others.
#include "agent/collect/cgroup_v1.hpp"

#include <doctest/doctest.h>

#include <map>

#include "agent/collect/cgroup.hpp"
#include "agent/collect/node_cgroup.hpp"
#include "agent/sampler.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
constexpr std::uint64_t kHybridUsage_us = 2'526'187;
constexpr std::uint64_t kHybridUsed_bytes = 145'498'112 - 393'216;  // without inactive page cache
const std::string kHybridMounts =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

void lay_out_hybrid_node(const Tree& tree) {
  tree.lay_out("hybrid-node.txt");
  tree.put("proc/self/mountinfo", kHybridMounts);
  tree.put("proc/stat", "cpu  90000 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");
  tree.put("proc/meminfo", "MemTotal: 24654948 kB\nMemAvailable: 12000000 kB\n");
  tree.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000000000\n");
}
AgentConfig config_below(const Tree& tree) {
  AgentConfig config;
  config.node = "n1";
  config.roots = Roots::below(tree.path());
  return config;
}
}  // namespace

TEST_CASE("I/O of cgroup v1 sums devices and excludes stacked ones") {
  const std::string text =
      "8:0 Read 4096\n8:0 Write 512\n8:0 Sync 4608\n8:0 Async 0\n8:0 Discard 7\n8:0 Total 4608\n"
      "253:0 Read 4096\n253:0 Write 0\n259:1 Read 1000\n259:1 Write torn\nTotal 9704\n";
  const std::vector<unsigned> stacked{253};
  CHECK(parse_blkio_bytes(text, stacked)->read_bytes == 5096);
  CHECK(parse_blkio_bytes(text, stacked)->write_bytes == 512);
  CHECK(parse_blkio_bytes(text)->read_bytes == 9192);
  CHECK(parse_blkio_bytes("Total 0\n")->read_bytes == 0);
  CHECK_FALSE(parse_blkio_bytes("").has_value());
  CHECK_FALSE(parse_memory_stat_v1("cache 1\nrss 2\n").anon_bytes.has_value());
}

TEST_CASE("pods of a hybrid machine have memory, pids and I/O, from cgroup v1") {
  const Tree tree;
  lay_out_hybrid_node(tree);
  const std::string agent = "af691726-2413-4211-a9c8-b135dfa3afbb";
  const std::string blkio =
      "sys/fs/cgroup/blkio/kubepods/burstable/pod" + agent + "/blkio.throttle.io_service_bytes_recursive";
  ManualClock clock;
  auto sampler = Sampler::open_(config_below(tree), clock, 1);
  REQUIRE(sampler.has_value());
  std::map<std::string, std::string> shown;
  const auto text = [](std::optional<std::uint64_t> value) { return value ? " " + std::to_string(*value) : " -"; };
  const auto look = [&] {
    const Sample& sample = sampler->tick();
    for (std::size_t i = 0; i < sample.record.workloads.size(); ++i) {
      const WorkloadValues& pod = sample.record.workloads[i];
      const auto& io = sample.workloads[i].io;
      shown[pod.name] = text(pod.memory_bytes) + text(pod.memory_anon_bytes) + text(pod.memory_file_bytes) +
                        text(pod.pids) + text(io ? std::optional(io->read_bytes) : std::nullopt);
    }
  };
  look();
  CHECK(shown ==
        std::map<std::string, std::string>{{"042efb18-05b3-4e92-9558-17034df68045", " 503808 57344 0 3 0"},
                                           {"4f681f9c-a966-4784-999c-aeea8290815d", " 229376 57344 0 1 0"},
                                           {"672b867c-ff6c-4f09-b771-9f747cb698e2", " 8327168 2842624 69632 7 0"},
                                           {"857c7e6e-4dce-41b8-8d3d-ec0c02d0176f", " 262144 0 0 1 0"},
                                           {agent, " 53182464 51232768 454656 17 0"}});
  const auto read_by_agent = [&] {
    std::uint64_t read_bytes = 0;
    for (int i = 0; i < 6; ++i) {  // I/O is read from a fifth of the pods each second
      clock.advance(1s);
      for (const auto& pod : sampler->tick().record.workloads)
        if (pod.name == agent) read_bytes += pod.io_read_bytes.value_or(0);
    }
    return read_bytes;
  };
  tree.put(blkio, "Total 0\n");
  CHECK(read_by_agent() == 0);
  tree.put(blkio, "8:0 Read 4096\n8:0 Write 512\nTotal 4608\n");
  CHECK(read_by_agent() == 4096);
  look();
  CHECK(shown[agent] == " 53182464 51232768 454656 17 4096");
  tree.put(blkio, "8:0 Read 10096\n8:0 Write 512\nTotal 10608\n");
  CHECK(read_by_agent() == 6000);
}

TEST_CASE("a cgroup that cgroup v1 lacks is looked for after 1, 2, 4 s and so on, at most 32 s apart") {
  const Tree tree;
  tree.put("proc/self/mountinfo", kHybridMounts);
  tree.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  const auto v1 = CgroupV1::open_(Roots::below(tree.path()));
  REQUIRE(v1.has_value());
  CgroupV1Files files;
  std::vector<char> scratch(4096);
  ManualClock clock;
  std::vector<int> looked_s;
  for (int second = 0; second < 140; ++second) {
    const bool waits = files.memory.is_absent(clock.mono());
    CHECK_FALSE(v1->memory_bytes(files, "kubepods/podlate", clock.mono(), scratch).has_value());
    if (!waits) looked_s.push_back(second);
    clock.advance(1s);
  }
  CHECK(looked_s == std::vector<int>{0, 1, 3, 7, 15, 31, 63, 95, 127});
  tree.put("sys/fs/cgroup/memory/kubepods/podlate/memory.usage_in_bytes", "4096\n");
  CHECK_FALSE(v1->memory_bytes(files, "kubepods/podlate", clock.mono(), scratch).has_value());
  clock.advance(32s);
  CHECK(v1->memory_bytes(files, "kubepods/podlate", clock.mono(), scratch) == 4096);
}

TEST_CASE("throttling in cgroup v1 is read from the line in nanoseconds") {
  CHECK(parse_throttled_us_v1("nr_periods 5\nnr_throttled 2\nthrottled_time 1999999\n") == 1999);
  CHECK_FALSE(parse_throttled_us_v1("usage_usec 5\nthrottled_usec 7\n").has_value());
  CHECK_FALSE(parse_throttled_us_v1("throttled_time -1\n").has_value());
}

TEST_CASE("pods of a hybrid machine are throttled by the cgroup v1 limits of the pod and of its containers") {
  const Tree tree;
  lay_out_hybrid_node(tree);
  const std::string pod = "af691726-2413-4211-a9c8-b135dfa3afbb", path = "kubepods/burstable/pod" + pod;
  const std::string container = std::string(64, 'c');
  const auto throttle = [&](const std::string& where, std::uint64_t ns) {
    tree.put("sys/fs/cgroup/cpu/" + where + "/cpu.stat",
             "nr_periods 10\nnr_throttled 3\nthrottled_time " + std::to_string(ns) + "\n");
  };
  tree.put("sys/fs/cgroup/unified/" + path + "/" + container + "/cpu.stat", "usage_usec 10\n");
  throttle(path, 1'000'000);
  throttle(path + "/" + container, 5'000'000);
  ManualClock clock;
  auto sampler = Sampler::open_(config_below(tree), clock, 1);
  REQUIRE(sampler.has_value());
  const auto throttled = [&](const std::string& name) -> std::optional<std::uint64_t> {
    for (const auto& each : sampler->tick().record.workloads)
      if (each.name == name) return each.cpu_throttled_us;
    return std::nullopt;
  };
  CHECK_FALSE(throttled(pod).has_value());
  for (std::uint64_t i = 1; i <= 3; ++i) {
    throttle(path, 1'000'000 + i * 2'000'000);
    throttle(path + "/" + container, 5'000'000 + i * 30'000'000);
    clock.advance(1s);
    CHECK(throttled(pod) == 32'000);
  }
  clock.advance(1s);
  CHECK_FALSE(throttled("672b867c-ff6c-4f09-b771-9f747cb698e2").has_value());  // the captured tree has no such file
}

TEST_CASE("without cgroup v1 hierarchies no v1 file is read") {
  const Tree tree{{"proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
                  {"sys/fs/cgroup/cpu.stat", "usage_usec 1\n"}};
  CHECK_FALSE(CgroupV1::open_(Roots::below(tree.path())).has_value());
}

TEST_CASE("a nested node reports its own cgroup, not the machine") {
  const Tree tree;
  lay_out_hybrid_node(tree);
  AgentConfig config = config_below(tree);
  config.nested = true;
  ManualClock clock;
  auto sampler = Sampler::open_(config, clock, 1);
  REQUIRE(sampler.has_value());
  sampler->tick();
  clock.advance(1s);
  tree.put("proc/stat", "cpu  90200 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");  // the machine: 2 cores
  tree.put("sys/fs/cgroup/unified/cpu.stat", "usage_usec " + std::to_string(kHybridUsage_us + 500'000) + "\n");
  const NodeValues& node = sampler->tick().record.node;
  CHECK(*node.cpu_used_cores == doctest::Approx(0.5));
  CHECK(*node.cpu_cores == 2);
  CHECK(*node.memory_used_bytes == kHybridUsed_bytes);
  CHECK(*node.memory_total_bytes == 24654948ULL * 1024);
  CHECK(*node.pressure.cpu_some_ratio == 0);
  tree.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n");
  CHECK(*sampler->tick().record.node.memory_total_bytes == 4294967296);
}

TEST_CASE("nested nodes add up to the machine") {
  // Three nodes that together have all of a machine's usage.
  std::uint64_t sum = 0;
  for (const std::uint64_t us : {700'000U, 250'000U, 50'000U}) {
    const Tree tree{{"proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
                    {"sys/fs/cgroup/cpu.stat", "usage_usec " + std::to_string(us) + "\n"},
                    {"sys/fs/cgroup/memory.current", std::to_string(us) + "\n"},
                    {"sys/fs/cgroup/memory.max", "max\n"},
                    {"sys/fs/cgroup/io.stat", "8:0 rbytes=" + std::to_string(us) + " wbytes=1\n"}};
    auto cgroup = NodeCgroup::open_(Roots::below(tree.path()));
    REQUIRE(cgroup.has_value());
    NodeCounters now;
    now.cpu = CpuCounters{1'000'000, 0, 2};
    now.memory = MemoryReading{8'000'000, 7'000'000};
    std::vector<char> scratch(4096);
    cgroup->read(now, ManualClock(), scratch);
    CHECK(now.cpu->busy_us == us);
    CHECK(now.memory->total_bytes == 8'000'000);
    CHECK(now.disks->at(0).in_bytes == us);
    sum += now.memory->total_bytes - now.memory->available_bytes;
  }
  CHECK(sum == 1'000'000);
}
