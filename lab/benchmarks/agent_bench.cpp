// agent_bench: measures the cost of reading N real cgroups, and the minimum cost of other ways to read them.
//   agent_bench [N] [ticks]
// Creates N cgroups below the cgroup2 mount (as root), named like pods, with a process in every tenth, and removes them
// at the end. Prints the median us of CPU per tick of: open/read/close, and pread on open descriptors, of cpu.stat and
// the three pressure files; the collector with files; the collector with the sweep; the sweep alone.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "agent/bpf/cgroup_sweep.hpp"
#include "agent/collect/cgroup.hpp"
#include "agent/collect/cgroup_mount.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
// CPU time, not wall time, because the machine may be busy with the load of the cgroups or with other work.
double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

double rss_mb() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

class Pods {
 public:
  Pods(const std::string& mount, int n) : top_(mount + "/kubepods-bench-" + std::to_string(::getpid()) + ".slice") {
    ::mkdir(top_.c_str(), 0755);
    for (int i = 0; i < n; ++i) {
      char name[128];
      std::snprintf(name, sizeof(name), "/kubepods-pod11111111_2222_3333_4444_%012d.slice", i);
      paths_.push_back(top_ + name);
      ::mkdir(paths_.back().c_str(), 0755);
    }
    for (int i = 0; i < n; i += 10) {
      const pid_t pid = ::fork();
      if (pid == 0) {  // runs in short bursts
        for (;;) {
          const double until = cpu_us() + 50;
          while (cpu_us() < until) {
          }
          ::usleep(200'000);
        }
      }
      pids_.push_back(pid);
      if (std::FILE* file = std::fopen((paths_[static_cast<std::size_t>(i)] + "/cgroup.procs").c_str(), "w")) {
        std::fprintf(file, "%d", pid);
        std::fclose(file);
      }
    }
  }
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;
  ~Pods() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    for (const auto& path : paths_) ::rmdir(path.c_str());
    ::rmdir(top_.c_str());
  }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::string top_;
  std::vector<std::string> paths_;
  std::vector<pid_t> pids_;
};

void report(const char* what, int n, int ticks, const std::function<void()>& tick) {
  tick();
  std::vector<double> took;
  for (int i = 0; i < ticks; ++i) {
    ::usleep(500'000);
    const double before = cpu_us();
    tick();
    took.push_back(cpu_us() - before);
  }
  std::sort(took.begin(), took.end());
  const double median = took[took.size() / 2];
  std::printf("%-34s %10.0f us a tick (worst %8.0f)  %7.3f us a cgroup   %6.1f MB resident\n", what, median,
              took.back(), median / n, rss_mb());
  std::fflush(stdout);
}
}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 500;
  const int ticks = argc > 2 ? std::atoi(argv[2]) : 21;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto top = open_cgroup_root(Roots{});
  if (!top) {
    std::fprintf(stderr, "%s\n", top.error().message().c_str());
    return 1;
  }
  const Pods pods(top->path(), n);
  const SystemClock clock;
  std::vector<char> scratch(1 << 20);
  const char* const names[] = {"cpu.stat", "cpu.pressure", "memory.pressure", "io.pressure"};
  std::printf("%d cgroups, %d ticks, CPU time of this process\n", n, ticks);
  {
    auto sweep = CgroupSweep::open_(*top);
    if (!sweep) {
      std::printf("no sweep: %s\n", sweep.error().message().c_str());
    } else {
      report("sweep alone", n, ticks, [&] {
        if (!sweep->read()) std::abort();
      });
      CgroupCollector collector(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}), std::move(*sweep));
      CgroupReadings readings;
      report("collector with the sweep", n, ticks, [&] { collector.read(readings, clock, 4, scratch); });
      if (readings.workloads.size() < static_cast<std::size_t>(n))
        std::printf("only %zu seen\n", readings.workloads.size());
    }
  }
  if (static_cast<rlim_t>(5 * n) < files.rlim_cur) {
    CgroupCollector collector(CgroupTree::open_(std::move(*Dir::open_(top->path())), {}));
    CgroupReadings readings;
    report("collector with kept files", n, ticks, [&] { collector.read(readings, clock, 4, scratch); });
  }
  if (static_cast<rlim_t>(4 * n) < files.rlim_cur) {
    std::vector<File> kept;
    for (const auto& path : pods.paths())
      for (const char* name : names)
        if (auto file = Dir::open_(path)->open_file(name)) kept.push_back(std::move(*file));
    report("floor: pread of 4 kept files", n, ticks, [&] {
      for (const auto& file : kept)
        if (!file.read_once_into(scratch)) std::abort();
    });
  }
  report("floor: open, read, close of 4", n, ticks, [&] {
    for (const auto& path : pods.paths())
      for (const char* name : names)
        if (!top->read_file(path.substr(top->path().size()) + "/" + name)) std::abort();
  });
  return 0;
}
