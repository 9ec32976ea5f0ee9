// The sampler on real hierarchies of cgroup v1: the values of a pod that exists only there, compared with the kernel's
// files and with wait4. Skipped, with the reason printed, if v1 has no CPU accounting here or cgroups cannot be created.
#include "agent/collect/cgroup_v1.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "agent/sampler.hpp"
#include "common/mounts.hpp"
#include "common/parse.hpp"
#include "tests/patience.hpp"
#include "tests/unit/agent/tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::Tree;

namespace {
const std::string kUid = "5eed0000-1111-4222-8333-" + std::to_string(200'000'000'000 + ::getpid());

// A cgroup in each mounted hierarchy of v1 that has one of the agent's controllers, seen as the top of that hierarchy,
// and a pod with a container below it, too deep for other agents on this machine to take it for a pod.
class V1Pod {
 public:
  V1Pod() {
    const auto table = read_file("/proc/self/mountinfo");
    if (!table) return;
    for (const Mount& mount : parse_mountinfo(*table, "cgroup")) {
      std::string options = "rw";
      for (const std::string_view name : {"cpu", "cpuacct", "memory", "blkio", "pids"})
        for (const std::string_view option : parse::split(mount.options, ','))
          if (option == name) options += "," + std::string(name);
      const std::string outer = mount.point + "/wattle-v1-" + std::to_string(::getpid());
      if (options == "rw" || ::mkdir(outer.c_str(), 0755) != 0) continue;
      outers_.push_back(outer);
      const std::string top = outer + kDeep;
      tops_.push_back(top);
      mountinfo_ += "3 1 0:3 / " + top + " rw - cgroup cgroup " + options + "\n";
      std::error_code failed;
      std::filesystem::create_directories(top + container(), failed);
      if (failed) return;
      if (options.find("cpuacct") != std::string::npos) cpuacct_ = top;
    }
  }
  V1Pod(const V1Pod&) = delete;
  V1Pod& operator=(const V1Pod&) = delete;
  ~V1Pod() { remove(); }
  static std::string pod() { return "/kubepods/burstable/pod" + kUid; }
  static std::string container() { return pod() + "/" + std::string(64, 'c'); }

  void add(pid_t pid) const {
    for (const std::string& top : tops_) std::ofstream(top + container() + "/cgroup.procs") << pid << std::flush;
  }
  void remove() {
    for (const std::string& top : tops_)
      for (std::string path = container(); path.size() > 1; path = path.substr(0, path.rfind('/')))
        tests::wait_until([&] { return ::rmdir((top + path).c_str()) == 0 || !std::filesystem::exists(top + path); });
    for (const std::string& outer : outers_) {
      for (std::string path = kDeep; path.size() > 1; path = path.substr(0, path.rfind('/')))
        ::rmdir((outer + path).c_str());
      ::rmdir(outer.c_str());
    }
    tops_.clear();
    outers_.clear();
  }
  std::string text(const std::string& file) const {
    const auto content = read_file(cpuacct_ + pod() + "/" + file);
    return content ? std::string(parse::trim(*content)) : "";
  }
  const std::string& cpuacct() const { return cpuacct_; }
  const std::string& mountinfo() const { return mountinfo_; }

 private:
  inline static const std::string kDeep = "/a/b/c/d/e/f";
  std::vector<std::string> outers_, tops_;
  std::string mountinfo_, cpuacct_;
};

// One, and the thread that ThreadSanitizer adds to each process.
std::uint64_t tasks_of(pid_t pid) {
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task");
  return static_cast<std::uint64_t>(std::distance(begin(tasks), end(tasks)));
}

const WorkloadValues* pod_of(const Sample& sample) {
  for (const WorkloadValues& each : sample.record.workloads)
    if (each.name == kUid) return &each;
  return nullptr;
}
}  // namespace

TEST_CASE("a pod on real hierarchies of cgroup v1 is read as the kernel counts it") {
  V1Pod pod;
  if (pod.cpuacct().empty()) {
    std::printf("[skipped] no hierarchy of cgroup v1 with cpuacct in which cgroups can be created\n");
    return;
  }
  const Tree tree;
  tree.put("proc/self/mountinfo", pod.mountinfo());
  tree.put("proc/stat", *read_file("/proc/stat"));
  tree.put("proc/meminfo", *read_file("/proc/meminfo"));
  AgentConfig config;
  config.node = "n1";
  config.roots.proc = tree.path() + "/proc";  // not a captured tree: BPF programs are loaded as on any machine
  const SystemClock clock;
  auto sampler = Sampler::open_(config, clock, 1);
  REQUIRE(sampler.has_value());
  REQUIRE(pod_of(sampler->tick()) != nullptr);

  int start[2];
  REQUIRE(::pipe(start) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(300);  // if the test ends early
    char go = 0;
    if (::read(start[0], &go, 1) != 1) ::_exit(1);
    const std::vector<char> memory(1 << 20, go);  // charged to the pod
    for (volatile bool on = !memory.empty(); on;) {
    }
  }
  pod.add(child);
  REQUIRE(::write(start[1], "g", 1) == 1);
  ::close(start[0]);
  ::close(start[1]);
  std::uint64_t used_us = 0;
  const bool ran = tests::wait_until(
      [&] {
        const auto before = parse::u64(pod.text("cpuacct.usage"));
        const Sample& sample = sampler->tick();
        const auto after = parse::u64(pod.text("cpuacct.usage"));
        const WorkloadValues* values = pod_of(sample);
        if (!values || !before || !after) return false;
        used_us += values->cpu_usage_us.value_or(0);
        for (std::size_t i = 0; i < sample.record.workloads.size(); ++i) {
          if (sample.record.workloads[i].name != kUid) continue;
          REQUIRE(sample.workloads[i].cpu_usage_us.has_value());
          CHECK(*sample.workloads[i].cpu_usage_us >= *before / 1000);
          CHECK(*sample.workloads[i].cpu_usage_us <= *after / 1000);
        }
        CHECK_FALSE(values->kernel.on_cpu_us.has_value());
        CHECK_FALSE(values->pressure.cpu_some_ratio.has_value());
        const bool all = values->memory_bytes.value_or(0) > 0 && values->pids.value_or(0) == tasks_of(child);
        return used_us > 200'000 && all;
      },
      tests::late());
  CHECK(ran);
  ::kill(child, SIGKILL);
  rusage spent{};
  int status = 0;
  REQUIRE(::wait4(child, &status, 0, &spent) == child);
  const Sample& last = sampler->tick();
  REQUIRE(pod_of(last) != nullptr);
  used_us += pod_of(last)->cpu_usage_us.value_or(0);
  const auto of = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
  };
  const std::uint64_t child_us = of(spent.ru_utime) + of(spent.ru_stime);
  std::printf("pod %llu us, wait4 %llu us\n", static_cast<unsigned long long>(used_us),
              static_cast<unsigned long long>(child_us));
  CHECK(used_us <= child_us + 1'000);
  CHECK(used_us + 20'000 + child_us / 10 >= child_us);  // it ran before it was in the pod
  pod.remove();
  const bool ended = tests::wait_until([&] {
    const WorkloadValues* values = pod_of(sampler->tick());
    return values == nullptr || values->ended;
  });
  CHECK(ended);
}
