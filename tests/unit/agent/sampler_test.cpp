#include "agent/sampler.hpp"

#include <doctest/doctest.h>

#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;
using agent::test::Tree;

namespace {
const std::string kSampledPod = "sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice";
const std::string kSampledUid = "11111111-2222-3333-4444-555555555555";

void usage(const Tree& tree, const std::string& dir, std::uint64_t us) {
  tree.put(dir + "/cpu.stat", "usage_usec " + std::to_string(us) + "\n");
}
void busy(const Tree& tree, std::uint64_t ticks) {
  tree.put("proc/stat", "cpu  " + std::to_string(ticks) + " 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");
}
void package(const Tree& tree, std::uint64_t uj) {
  tree.put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  tree.put("sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(uj));
  tree.put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850");
}
void machine(const Tree& tree) {
  busy(tree, 1000);
  tree.put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
  tree.put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  usage(tree, "sys/fs/cgroup", 10'000'000);
  usage(tree, "sys/fs/cgroup/kubepods.slice", 5'000'000);
  usage(tree, kSampledPod, 5'000'000);
}
AgentConfig config_of(const Tree& tree) {
  AgentConfig config;
  config.node = "n1";
  config.roots = Roots::below(tree.path());
  return config;
}
// A process that is preempted after the given reading of its clock.
class PreemptedClock final : public Clock {
 public:
  explicit PreemptedClock(int reading) : left_(reading) {}
  MonoTime mono() const override {
    const MonoTime now = at_;
    if (left_-- == 0) at_ += 20s;
    return now;
  }
  WallTime wall() const override { return WallTime{}; }
  void advance(Duration by) { at_ += by; }
  bool was_preempted() const { return left_ < 0; }

 private:
  mutable MonoTime at_{};
  mutable int left_;
};
}  // namespace

TEST_CASE("a process that is preempted between its readings reports at most twice the true power") {
  int reading = 0;
  for (bool more = true; more; ++reading) {
    const Tree tree;
    machine(tree);
    AgentConfig config = config_of(tree);
    config.estimate.idle_w = 100;
    config.estimate.max_w = 200;
    PreemptedClock clock(reading);
    auto sampler = Sampler::open_(config, clock, 7);
    REQUIRE(sampler.has_value());
    for (int tick = 0; tick < 4; ++tick) {
      const Record& record = sampler->tick().record;
      if (record.node.energy_uj && record.interval_ns > 0)
        CHECK(static_cast<double>(*record.node.energy_uj) * 1e3 / static_cast<double>(record.interval_ns) <= 400);
      clock.advance(1ms);
    }
    more = clock.was_preempted();
  }
  CHECK(reading > 10);
}

TEST_CASE("the first sample has counters and no rates; the second divides its energy exactly") {
  const Tree tree;
  machine(tree);
  package(tree, 1'000);
  ManualClock clock;
  auto sampler = Sampler::open_(config_of(tree), clock, 7);
  REQUIRE(sampler.has_value());
  const Sample& first = sampler->tick();
  CHECK(first.record.seq == 1);
  CHECK(first.record.incarnation == 7);
  CHECK(first.record.interval_ns == 0);
  CHECK_FALSE(first.record.node.cpu_used_cores.has_value());
  CHECK_FALSE(first.record.node.energy_uj.has_value());
  CHECK(first.rapl_uj.at(0).second == 1'000);
  REQUIRE(first.changes.size() == 1);
  CHECK(first.changes[0].uid == kSampledUid);

  clock.advance(1s);
  busy(tree, 1100);
  package(tree, 40'001'007);
  usage(tree, "sys/fs/cgroup", 11'000'000);
  usage(tree, "sys/fs/cgroup/kubepods.slice", 5'600'000);
  usage(tree, kSampledPod, 5'600'000);
  const Sample& second = sampler->tick();
  const NodeValues& node = second.record.node;
  CHECK(second.record.interval_ns == 1'000'000'000);
  CHECK(*node.cpu_used_cores == doctest::Approx(1.0));
  CHECK(*node.memory_used_bytes == 600 * 1024);
  CHECK(node.energy_source == EnergySource::rapl);
  CHECK(*node.energy_uj == 40'000'007);
  REQUIRE(second.record.workloads.size() == 1);
  const auto& pod = second.record.workloads[0];
  CHECK(*pod.cpu_usage_us == 600'000);
  CHECK(*pod.energy_uj + *node.idle_energy_uj + *node.unattributed_energy_uj == *node.energy_uj);
  const std::uint64_t dynamic_uj = *node.energy_uj - *node.idle_energy_uj;
  CHECK(*pod.energy_uj >= dynamic_uj * 6 / 10);
  CHECK(*pod.energy_uj <= dynamic_uj * 6 / 10 + 1);
  CHECK(second.changes.empty());
}

TEST_CASE("without a meter energy is estimated and marked, and a pod that ended is reported with its last share") {
  const Tree tree;
  machine(tree);
  AgentConfig config = config_of(tree);
  config.estimate.idle_w = 10;
  config.estimate.max_w = 30;
  config.estimate.curve = {0, 1};
  ManualClock clock;
  auto sampler = Sampler::open_(config, clock, 1);
  REQUIRE(sampler.has_value());
  sampler->tick();
  clock.advance(1s);
  busy(tree, 1100);  // one of two cores
  usage(tree, "sys/fs/cgroup", 11'000'000);
  usage(tree, "sys/fs/cgroup/kubepods.slice", 5'500'000);
  tree.remove(kSampledPod);
  const Sample& sample = sampler->tick();
  CHECK(sample.record.node.energy_source == EnergySource::estimated);
  CHECK(*sample.record.node.energy_uj == 20'000'000);
  CHECK(*sample.record.node.idle_energy_uj == 10'000'000);
  REQUIRE(sample.record.workloads.size() == 1);
  CHECK(sample.record.workloads[0].ended);
  CHECK(*sample.record.workloads[0].cpu_usage_us == 500'000);
  CHECK(*sample.record.workloads[0].energy_uj == 5'000'000);
  CHECK(*sample.record.node.unattributed_energy_uj == 5'000'000);
  REQUIRE(sample.changes.size() == 1);
  CHECK(sample.changes[0].gone);
  CHECK(sampler->pods().empty());
}

TEST_CASE("a workload's I/O on a device-mapper volume counts once, as that of the disk below") {
  const Tree tree;
  machine(tree);
  tree.put("proc/devices", "Block devices:\n  8 sd\n252 device-mapper\n");
  tree.put(kSampledPod + "/io.stat",
           "8:0 rbytes=4096 wbytes=512 rios=1 wios=1\n252:0 rbytes=4096 wbytes=512 rios=1 wios=1\n");
  ManualClock clock;
  auto sampler = Sampler::open_(config_of(tree), clock, 1);
  REQUIRE(sampler.has_value());
  const Sample& sample = sampler->tick();
  REQUIRE(sample.workloads.size() == 1);
  REQUIRE(sample.workloads[0].io.has_value());
  CHECK(sample.workloads[0].io->read_bytes == 4096);
  CHECK(sample.workloads[0].io->write_bytes == 512);
}
