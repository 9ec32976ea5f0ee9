// The BPF sweep compared with the cgroup files that it replaces, on the real machine and under load.
#include "agent/bpf/cgroup_sweep.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/collect/cgroup.hpp"
#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
// A cgroup for the test with busy processes; the destructor removes both.
class Busy {
 public:
  explicit Busy(std::string path) : path_(std::move(path)) { made_ = ::mkdir(path_.c_str(), 0755) == 0; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    stop();
    if (made_) ::rmdir(path_.c_str());
  }
  // All processes run on one CPU, so that they wait for each other.
  void spin() {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(0, &one);
      ::sched_setaffinity(0, sizeof(one), &one);
      ::alarm(60);
      for (volatile bool on = true; on;) {
      }
    }
    pids_.push_back(pid);
    std::ofstream(path_ + "/cgroup.procs") << pid << std::flush;
  }
  void stop() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    pids_.clear();
  }
  bool made() const { return made_; }
  bool remove() {
    if (made_ && ::rmdir(path_.c_str()) == 0) made_ = false;
    return !made_;
  }
  const std::string& path() const { return path_; }
  std::uint64_t id() const { return *Dir::open_(path_)->inode(); }

 private:
  std::string path_;
  std::vector<pid_t> pids_;
  bool made_ = false;
};

struct Readings {
  std::uint64_t usage_us = 0;
  PressureTotals pressure;
};

Readings files_of(const Busy& busy) {
  const auto dir = Dir::open_(busy.path());
  REQUIRE(dir.has_value());
  const auto cpu = dir->read_file("cpu.stat");
  REQUIRE(cpu.has_value());
  std::vector<char> scratch(4096);
  return {parse_cpu_stat(*cpu).usage_us.value(), PsiFiles::of_cgroup().read_from(*dir, scratch)};
}

// No value if something is missing; the reason is printed.
std::optional<Dir> mount_with_sweep() {
  auto top = open_cgroup_root(Roots{});
  if (!top) {
    MESSAGE("[skipped] ", top.error().message());
    return std::nullopt;
  }
  if (const auto sweep = CgroupSweep::open_(*top); !sweep) {
    MESSAGE("[skipped] ", sweep.error().message());
    return std::nullopt;
  }
  return std::move(*top);
}

std::string own_name(const char* suffix) { return "wattle-sweep-" + std::to_string(::getpid()) + suffix; }
}  // namespace

TEST_CASE("under load every value of the sweep lies between file readings before and after it") {
  const auto top = mount_with_sweep();
  if (!top) return;
  Busy outer(top->path() + "/" + own_name(".slice"));
  if (!outer.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  Busy inner(outer.path() + "/inner");
  inner.spin();
  inner.spin();
  auto sweep = CgroupSweep::open_(*top);
  REQUIRE(sweep.has_value());
  const auto find = [&](std::uint64_t id) {
    const auto records = sweep->read();
    REQUIRE(records.has_value());
    for (const auto& record : *records)
      if (record.id == id) return record;
    FAIL("the cgroup is not in the sweep");
    return cgroup_record{};
  };
  const bool has_pressure = files_of(inner).pressure.cpu.some_us.has_value();
  std::uint64_t last_us = 0;
  for (int round = 0; round < 40; ++round) {
    for (const Busy* busy : {&outer, &inner}) {
      const Readings before = files_of(*busy);
      const cgroup_record record = find(busy->id());
      const Readings after = files_of(*busy);
      CHECK(before.usage_us <= record.usage_ns / 1000);
      CHECK(record.usage_ns / 1000 <= after.usage_us);
      CHECK(has_pressure == ((record.present & kCgroup_has_pressure) != 0));
      const auto between = [&](std::optional<std::uint64_t> low, std::uint64_t ns, std::optional<std::uint64_t> high) {
        if (!low || !high) return;
        CHECK(*low <= ns / 1000);
        CHECK(ns / 1000 <= *high);
      };
      between(before.pressure.cpu.some_us, record.pressure_ns[kPsi_cpu_some], after.pressure.cpu.some_us);
      between(before.pressure.cpu.full_us, record.pressure_ns[kPsi_cpu_full], after.pressure.cpu.full_us);
      between(before.pressure.memory.some_us, record.pressure_ns[kPsi_memory_some], after.pressure.memory.some_us);
      between(before.pressure.memory.full_us, record.pressure_ns[kPsi_memory_full], after.pressure.memory.full_us);
      between(before.pressure.io.some_us, record.pressure_ns[kPsi_io_some], after.pressure.io.some_us);
      between(before.pressure.io.full_us, record.pressure_ns[kPsi_io_full], after.pressure.io.full_us);
      const auto dir = Dir::open_(busy->path());
      CHECK(dir->exists("memory.current") == ((record.present & kCgroup_has_memory) != 0));
      CHECK(dir->exists("pids.current") == ((record.present & kCgroup_has_pids) != 0));
      if (const auto pids = dir->read_file("pids.current")) CHECK(*parse::u64(parse::trim(*pids)) == record.pids);
      last_us = after.usage_us;
    }
    tests::pace(std::chrono::milliseconds(20));
  }
  CHECK(last_us > 0);
}

TEST_CASE("a collector with the sweep reports the same as one with files, also for short-lived workloads") {
  auto top = mount_with_sweep();
  if (!top) return;
  const auto service = [&](const char* suffix) {
    return top->path() + "/" + own_name(".slice") + "/" + own_name(suffix);
  };
  Busy slice(top->path() + "/" + own_name(".slice"));
  if (!slice.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  auto going = std::make_unique<Busy>(service("-going.service"));
  Busy staying(service("-a\\x2db.service"));
  going->spin();
  staying.spin();
  staying.spin();
  auto sweep = CgroupSweep::open_(*top);
  REQUIRE(sweep.has_value());
  CgroupCollector swept(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}), std::move(*sweep));
  CgroupCollector filed(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}));
  const SystemClock clock;
  std::vector<char> scratch(1 << 16);
  CgroupReadings before, by_sweep, after;
  const auto tick = [&] {
    filed.read(before, clock, 1024, scratch);
    swept.read(by_sweep, clock, 1024, scratch);
    filed.read(after, clock, 1024, scratch);
  };
  const auto at = [&](const CgroupReadings& readings, std::uint64_t id, bool ended) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < readings.workloads.size(); ++i)
      if (readings.workloads[i].cgroup_id == id && readings.workloads[i].ended == ended) return i;
    return std::nullopt;
  };
  tick();
  tests::pace(std::chrono::milliseconds(100));
  tick();
  CHECK(swept.sweeps());
  for (const std::uint64_t id : {going->id(), staying.id()}) {
    const auto i = at(before, id, false), j = at(by_sweep, id, false), k = at(after, id, false);
    REQUIRE(i.has_value());
    REQUIRE(j.has_value());
    REQUIRE(k.has_value());
    CHECK(by_sweep.workloads[*j].name == before.workloads[*i].name);
    CHECK(by_sweep.paths[*j] == before.paths[*i]);
    CHECK(by_sweep.workloads[*j].kind == WorkloadKind::service);
    CHECK(before.counters[*i].cpu_usage_us <= by_sweep.counters[*j].cpu_usage_us);
    CHECK(by_sweep.counters[*j].cpu_usage_us <= after.counters[*k].cpu_usage_us);
    CHECK(before.counters[*i].pressure.cpu.some_us <= by_sweep.counters[*j].pressure.cpu.some_us);
    CHECK(by_sweep.counters[*j].pressure.cpu.some_us <= after.counters[*k].pressure.cpu.some_us);
    CHECK(by_sweep.workloads[*j].cpu_usage_us.has_value());
  }
  const auto gone_id = going->id();
  const auto used_us = files_of(*going).usage_us;
  going.reset();
  Busy born(service("-born.service"));
  born.spin();
  tests::pace(std::chrono::milliseconds(50));
  tick();
  const auto gone = at(by_sweep, gone_id, true), arrived = at(by_sweep, born.id(), false);
  REQUIRE(gone.has_value());
  REQUIRE(arrived.has_value());
  CHECK(by_sweep.counters[*gone].cpu_usage_us.value() + by_sweep.workloads[*gone].cpu_usage_us.value() >= used_us);
  CHECK(by_sweep.workloads[*arrived].cpu_usage_us == by_sweep.counters[*arrived].cpu_usage_us);
  tick();
  CHECK_FALSE(at(by_sweep, gone_id, true).has_value());
}

TEST_CASE("by sweep and by files, a pod and its nested pod sum to the kernel's count for the outer cgroup") {
  auto top = mount_with_sweep();
  if (!top) return;
  const std::string outer_uid = "11111111-2222-3333-4444-555555555555",
                    inner_uid = "99999999-2222-3333-4444-555555555555";
  Busy slice(top->path() + "/" + own_name(".slice"));
  if (!slice.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  Busy kubepods(slice.path() + "/kubepods"), outer(kubepods.path() + "/pod" + outer_uid);
  Busy container(outer.path() + "/" + std::string(64, 'c')), init(container.path() + "/init");
  Busy within(container.path() + "/kubepods"), inner(within.path() + "/pod" + inner_uid);
  init.spin();
  inner.spin();
  auto sweep = CgroupSweep::open_(*top);
  REQUIRE(sweep.has_value());
  CgroupCollector swept(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}), std::move(*sweep));
  CgroupCollector filed(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}));
  const SystemClock clock;
  std::vector<char> scratch(1 << 16);
  const auto check = [&](CgroupCollector& collector) {
    CgroupReadings readings;
    std::uint64_t began_us = 0, counted_us = 0, outer_us = 0, inner_us = 0;
    const auto tick = [&](bool first) {
      collector.read(readings, clock, 1024, scratch);
      for (std::size_t i = 0; i < readings.workloads.size(); ++i) {
        const WorkloadValues& values = readings.workloads[i];
        if (values.name == inner_uid) {
          CHECK((values.kind == WorkloadKind::other));
          inner_us += values.cpu_usage_us.value_or(0);
        }
        if (values.name != outer_uid) continue;
        CHECK((values.kind == WorkloadKind::pod));
        outer_us += values.cpu_usage_us.value_or(0);
        counted_us = readings.counters[i].cpu_usage_us.value_or(0);
        if (first) began_us = counted_us;
      }
    };
    for (int i = 0; i < 6; ++i) {
      tick(i == 0);
      tests::pace(std::chrono::milliseconds(50));
    }
    init.stop();
    inner.stop();
    tick(false);
    tick(false);
    CHECK(outer_us + inner_us == counted_us - began_us);
    return std::pair(outer_us, inner_us);
  };
  const auto by_sweep = check(swept);
  CHECK(by_sweep.first > 0);
  CHECK(by_sweep.second > 0);
  init.spin();
  inner.spin();
  const auto by_files = check(filed);
  CHECK(by_files.first > 0);
  CHECK(by_files.second > 0);
}

TEST_CASE(
    "without descriptors a sweep ends only removed workloads, once each, and works again when descriptors are "
    "free") {
  auto top = mount_with_sweep();
  if (!top) return;
  Busy slice(top->path() + "/" + own_name(".slice"));
  if (!slice.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  Busy service(slice.path() + "/" + own_name("-full.service"));
  service.spin();
  Busy leaver(slice.path() + "/" + own_name("-leaves.service"));
  leaver.spin();
  const std::uint64_t leaver_id = leaver.id();
  auto sweep = CgroupSweep::open_(*top);
  REQUIRE(sweep.has_value());
  CgroupCollector collector(CgroupTree::open_(std::move(*top), {}), std::move(*sweep));
  const SystemClock clock;
  std::vector<char> scratch(1 << 16);
  CgroupReadings readings;
  const auto counted_us = [&]() -> std::optional<std::uint64_t> {
    collector.read(readings, clock, 1024, scratch);
    for (std::size_t i = 0; i < readings.workloads.size(); ++i)
      if (readings.workloads[i].cgroup_id == service.id()) return readings.counters[i].cpu_usage_us;
    return std::nullopt;
  };
  REQUIRE(counted_us().has_value());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before, none = before;
  none.rlim_cur = 0;
  for (rlim_t free = 0; free < 8; ++free) {  // from files to the sweep and back, with a few descriptors free
    few.rlim_cur = free + static_cast<rlim_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    collector.read(readings, clock, 1024, scratch);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(collector.sweep_lost().has_value());
    const auto read_us = counted_us();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (read_us) CHECK(*read_us <= files_of(service).usage_us);
  }
  leaver.stop();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  REQUIRE(leaver.remove());
  std::size_t ended = 0;
  for (int i = 0; i < 3; ++i) {
    collector.read(readings, clock, 1024, scratch);
    ended += static_cast<std::size_t>(
        std::count_if(readings.workloads.begin(), readings.workloads.end(),
                      [&](const WorkloadValues& values) { return values.ended && values.cgroup_id == leaver_id; }));
    if (i == 0) REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  }
  CHECK(ended == 1);
  const auto low_us = files_of(service).usage_us;
  const auto read_us = counted_us();
  CHECK(collector.sweeps());
  CHECK_FALSE(collector.sweep_lost().has_value());
  CHECK_FALSE(collector.tree().truncated());
  REQUIRE(read_us.has_value());
  CHECK(low_us <= *read_us);
  CHECK(*read_us <= files_of(service).usage_us);
}

TEST_CASE("a sweep that has become too small is reopened with more capacity") {
  const auto top = mount_with_sweep();
  if (!top) return;
  Busy slice(top->path() + "/" + own_name("-grows.slice"));
  if (!slice.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  auto sweep = CgroupSweep::open_(*top, 1);
  auto small = CgroupSweep::open_(*top, 1);
  REQUIRE(sweep.has_value());
  REQUIRE(small.has_value());
  std::vector<std::unique_ptr<Busy>> more;
  for (std::size_t i = 0; i <= std::max(sweep->capacity(), small->capacity()); ++i) {
    more.push_back(std::make_unique<Busy>(slice.path() + "/n" + std::to_string(i)));
    REQUIRE(more.back()->made());
  }
  const auto full = small->read();
  REQUIRE_FALSE(full.has_value());
  CHECK(full.error().code == Errc::out_of_range);
  CgroupCollector collector(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}), std::move(*sweep));
  std::vector<char> scratch(1 << 16);
  CgroupReadings readings;
  collector.read(readings, SystemClock{}, 1024, scratch);
  CHECK(collector.sweeps());
  CHECK_FALSE(collector.sweep_lost().has_value());
  CHECK(collector.tree().size() > more.size());
}

TEST_CASE("a collector with the sweep does not wait until the kernel sums pressure") {
  auto top = mount_with_sweep();
  if (!top) return;
  Busy busy(top->path() + "/" + own_name("-waits.service"));
  if (!busy.made()) {
    MESSAGE("[skipped] no cgroup can be created below ", top->path());
    return;
  }
  if (!files_of(busy).pressure.cpu.some_us) {
    MESSAGE("[skipped] this kernel has no pressure totals of cgroups");
    return;
  }
  // One process more than there are processors, so that one always waits.
  for (long i = 0; i <= ::sysconf(_SC_NPROCESSORS_ONLN); ++i) busy.spin();
  auto sweep = CgroupSweep::open_(*top);
  REQUIRE(sweep.has_value());
  CgroupCollector collector(CgroupTree::open_(std::move(*top), {}), std::move(*sweep));
  const SystemClock clock;
  std::vector<char> scratch(1 << 16);
  CgroupReadings readings;
  int grew = 0;
  std::optional<std::uint64_t> last_us;
  for (int round = 0; round < 11; ++round) {
    tests::pace(std::chrono::milliseconds(100));  // the kernel sums every two seconds
    collector.read(readings, clock, 1024, scratch);
    for (std::size_t i = 0; i < readings.workloads.size(); ++i) {
      if (readings.workloads[i].cgroup_id != busy.id()) continue;
      const auto now_us = readings.counters[i].pressure.cpu.some_us;
      grew += last_us && now_us > last_us;
      last_us = now_us;
    }
  }
  CHECK(grew >= 8);
}
