// Cgroups that start and end between two ticks on the real kernel: each is reported once, with its own CPU time.
#include "agent/bpf/cgroup_lifecycle.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "agent/collect/cgroup_mount.hpp"
#include "agent/sampler.hpp"
#include "common/parse.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
// BPF counts a run at the last context switch, slightly after the kernel settles the time that wait4 reports. In a
// guest, the clocks of scheduler and process may differ by part of a kernel tick (at most 10 ms) per interrupt.
constexpr std::uint64_t kTolerance_us = 10'000;

bool remove_cgroup(const std::string& path) {
  bool removed = false;
  tests::wait_until([&] { return (removed = ::rmdir(path.c_str()) == 0) || errno != EBUSY; });
  return removed;
}

// True once the process waits. A run that is in progress during a move counts for the cgroup in which it began.
bool sleeps(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  const auto end = line.rfind(") ");
  return end != std::string::npos && line[end + 2] == 'S';
}

struct Used {
  std::uint64_t spun_us = 0;   // by the process' own clock, all within the cgroup
  std::uint64_t whole_us = 0;  // by wait4, from fork to exit
};

// A process that is moved while it waits, as container runtimes do.
Used spin_in(const std::string& path, std::uint64_t us) {
  std::array<int, 2> go{}, reported{};
  REQUIRE(::pipe(go.data()) == 0);
  REQUIRE(::pipe(reported.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    const auto now_us = [] {
      timespec now{};
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
      return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
    };
    const std::uint64_t before = now_us();
    std::uint64_t spun = 0;
    while ((spun = now_us() - before) < us) {
    }
    ::_exit(::write(reported[1], &spun, sizeof(spun)) == sizeof(spun) ? 0 : 1);
  }
  REQUIRE(tests::wait_until([&] { return sleeps(pid); }));
  std::ofstream(path + "/cgroup.procs") << pid << std::flush;
  CHECK(::write(go[1], "x", 1) == 1);
  Used used;
  CHECK(::read(reported[0], &used.spun_us, sizeof(used.spun_us)) == sizeof(used.spun_us));
  rusage usage{};
  int status = 0;
  CHECK(::wait4(pid, &status, 0, &usage) == pid);
  CHECK(status == 0);
  const auto us_of = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  used.whole_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
  for (const int fd : {go[0], go[1], reported[0], reported[1]}) ::close(fd);
  return used;
}

// A slice for the test, or no value; the reason is printed.
class Slice {
 public:
  Slice() {
    auto top = open_cgroup_root(Roots{});
    if (!top) {
      MESSAGE("[skipped] ", top.error().message());
      return;
    }
    const std::string path = top->path() + "/wattle-short-" + std::to_string(::getpid()) + ".slice";
    if (::mkdir(path.c_str(), 0755) != 0) {
      MESSAGE("[skipped] no cgroup can be created below ", top->path());
      return;
    }
    path_ = path;
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
  ~Slice() {
    if (!path_.empty()) remove_cgroup(path_);
  }
  bool made() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  std::string make(const std::string& name) const {
    REQUIRE(::mkdir((path_ + "/" + name).c_str(), 0755) == 0);
    return path_ + "/" + name;
  }
  std::uint64_t usage_us() const {
    return parse::keyed_u64(*Dir::open_(path_)->read_file("cpu.stat"), "usage_usec").value();
  }

 private:
  std::string path_;
};

bool has(const std::vector<Finding>& findings, const std::string& source) {
  for (const auto& finding : findings)
    if (finding.source == source && finding.ok) return true;
  MESSAGE("[skipped] ", source, " does not load here");
  return false;
}
}  // namespace

TEST_CASE("services and a pod that live between two ticks are reported once with their own CPU time") {
  const Slice slice;
  if (!slice.made()) return;
  AgentConfig config;
  config.bpf.enabled = true;
  const SystemClock clock;
  auto sampler = Sampler::open_(config, clock, 1);
  REQUIRE(sampler.has_value());
  for (const char* source : {"bpf-lifecycle", "bpf-sched"})
    if (!has(sampler->findings(), source)) return;
  sampler->tick();
  const std::uint64_t before_us = slice.usage_us();
  sampler->tick();

  std::map<std::string, Used> used;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "brief-" + std::to_string(i) + ".service";
    const std::string path = slice.make(name);
    used[name] = spin_in(path, 20'000 + 10'000 * static_cast<std::uint64_t>(i));
    REQUIRE(remove_cgroup(path));
  }
  const std::string uid = "11111111-2222-3333-4444-000000000001";
  const std::string pods = slice.make("kubepods"), pod = slice.make("kubepods/pod" + uid),
                    container = slice.make("kubepods/pod" + uid + "/" + std::string(64, 'a'));
  used[uid] = spin_in(container, 50'000);
  for (const auto& path : {container, pod, pods}) REQUIRE(remove_cgroup(path));

  const Sample& sample = sampler->tick();
  const std::uint64_t gain_us = slice.usage_us() - before_us;
  std::map<std::string, int> reported;
  std::uint64_t sum_us = 0;
  for (const auto& workload : sample.record.workloads) {
    const auto own = used.find(workload.name);
    if (own == used.end()) continue;
    ++reported[workload.name];
    CHECK(workload.ended);
    REQUIRE(workload.cpu_usage_us.has_value());
    INFO(workload.name, " used ", *workload.cpu_usage_us, " spun ", own->second.spun_us, " in all ",
         own->second.whole_us);
    CHECK(*workload.cpu_usage_us + kTolerance_us >= own->second.spun_us);
    CHECK(*workload.cpu_usage_us <= own->second.whole_us + kTolerance_us);
    REQUIRE(workload.kernel.on_cpu_us.has_value());
    CHECK(*workload.cpu_usage_us <= *workload.kernel.on_cpu_us + 1);  // two readings, each rounded down
    sum_us += *workload.cpu_usage_us;
  }
  CHECK(reported.size() == used.size());
  for (const auto& [name, times] : reported) CHECK(times == 1);
  CHECK(sum_us <= gain_us);
  std::vector<bool> pod_changes;
  for (const auto& change : sample.changes)
    if (change.uid == uid) pod_changes.push_back(change.gone);
  CHECK(pod_changes == std::vector<bool>{false, true});

  for (const auto& workload : sampler->tick().record.workloads) CHECK_FALSE(used.contains(workload.name));
}

TEST_CASE("removals that overflow the ring buffer are counted, and the next reading has its full capacity") {
  const Slice slice;
  if (!slice.made()) return;
  auto lifecycle = CgroupLifecycle::open_(4096);
  if (!lifecycle) {
    MESSAGE("[skipped] ", lifecycle.error().message());
    return;
  }
  const auto parent = *Dir::open_(slice.path())->inode();
  const auto come_and_go = [&](int count) {
    for (int i = 0; i < count; ++i)
      REQUIRE(remove_cgroup(slice.make("a-name-of-some-length-" + std::to_string(i) + ".service")));
    std::set<std::string> names;
    for (const auto& one : lifecycle->read())
      if (one.parent == parent) CHECK(names.insert(one.name).second);
    return names;
  };
  constexpr std::size_t kMade = 200;
  const auto some = come_and_go(static_cast<int>(kMade));
  CHECK(some.size() > 0);
  CHECK(some.size() < kMade);
  CHECK(some.contains("a-name-of-some-length-0.service"));
  CHECK(lifecycle->lost() >= kMade - some.size());
  const auto lost = lifecycle->lost();
  CHECK(come_and_go(5).size() == 5);
  CHECK(lifecycle->lost() == lost);
}
