#include "agent/accept_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <thread>

#include "agent/accept.hpp"
#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/estimate.hpp"
#include "agent/doctor.hpp"
#include "agent/ticker.hpp"

namespace wattle::agent {

namespace {

constexpr std::size_t kStreamedBytes = 64 << 20;  // per thread: more than a core's share of the last-level cache
constexpr int kBetweenLooks_ms = 5;
constexpr char kEndOrder = 'e';

void burn_integers(const std::atomic<bool>& on) {
  std::uint64_t value = 88172645463325252ULL;
  while (on.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 1'000'000; ++i) {
      value ^= value << 13U;
      value ^= value >> 7U;
      value ^= value << 17U;
      asm volatile("" : "+r"(value));
    }
  }
}

void stream_memory(const std::atomic<bool>& on) {
  std::vector<std::uint64_t> bytes(kStreamedBytes / sizeof(std::uint64_t));
  while (on.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < bytes.size() && on.load(std::memory_order_relaxed); i += 4096)
      for (std::size_t at = i; at < std::min(i + 4096, bytes.size()); at += 8) bytes[at] += at;
    asm volatile("" : : "r"(bytes.data()) : "memory");
  }
}

// Runs in the child: '1' starts the load, '0' pauses it; kEndOrder or the end of the pipe ends it.
[[noreturn]] void serve_load(std::size_t load, int orders, unsigned threads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::atomic<bool> on{false};
  std::vector<std::thread> workers;
  char order = 0;
  for (;;) {
    const ssize_t got = ::read(orders, &order, 1);
    if (got < 0 && errno == EINTR) continue;
    const bool wanted = got == 1 && order == '1';
    if (wanted && workers.empty()) {
      on = true;
      for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back([&on, load] { load == 0 ? burn_integers(on) : stream_memory(on); });
    } else if (!wanted) {
      on = false;
      for (std::thread& worker : workers) worker.join();
      workers.clear();
    }
    if (got != 1 || order == kEndOrder) ::_exit(0);
  }
}

class Load {
 public:
  // Call before any thread starts.
  static Result<Load> start(std::size_t which, unsigned threads) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "a pipe");
    Fd reading(ends[0]), writing(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "a load");
    if (pid == 0) {
      writing = Fd();
      serve_load(which, reading.get(), threads);
    }
    return Load(which, pid, std::move(writing));
  }
  Load(Load&& other) noexcept
      : which_(other.which_),
        pid_(std::exchange(other.pid_, 0)),
        orders_(std::move(other.orders_)),
        folder_(std::move(other.folder_)) {}
  Load& operator=(Load&&) = delete;
  ~Load() {
    if (pid_ == 0) return;
    // Closing the pipe is not enough: processes started later have a copy of this end.
    order(kEndOrder);
    orders_ = Fd();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    // The cgroup stays busy for some time after its last process was reaped.
    for (int i = 0; !folder_.empty() && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY && i < 1000; ++i)
      ::poll(nullptr, 0, kBetweenLooks_ms);
  }
  // Moves the load into its own cgroup. Returns an error text; empty on success.
  std::string own_cgroup(const std::string& root) {
    const std::string folder = root + "/wattle-accept-" + std::string(kLoadNames[which_]) + ".service";
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return std::strerror(errno);
    folder_ = folder;
    const Fd members(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string text = std::to_string(pid_);
    if (!members.valid() || ::write(members.get(), text.data(), text.size()) < 0) return std::strerror(errno);
    return {};
  }
  void burn(bool on) const { order(on ? '1' : '0'); }

 private:
  void order(char what) const {
    while (::write(orders_.get(), &what, 1) < 0 && errno == EINTR) {
    }
  }
  Load(std::size_t which, pid_t pid, Fd orders) : which_(which), pid_(pid), orders_(std::move(orders)) {}
  std::size_t which_;
  pid_t pid_;
  Fd orders_;
  std::string folder_;
};

double own_cpu_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

std::uint64_t own_memory_bytes() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

std::string processor_of(const Roots& roots) {
  const auto proc = Dir::open_(roots.proc);
  const std::string text = proc ? proc->read_file("cpuinfo", 16 << 20).value_or("") : "";
  const auto model = parse_cpuinfo(text);
  return model && !model->name.empty() ? model->name : "unknown processor";
}

// Returns only the numbers: a suffix added by a distribution or a person may contain a name.
std::string kernel_version() {
  utsname about{};
  if (::uname(&about) != 0) return "unknown";
  const std::string release(about.release);
  return release.substr(0, release.find_first_not_of("0123456789."));
}

}  // namespace

Result<bool> run_accept(AgentConfig config, const AcceptOptions& options, const Clock& clock) {
  std::vector<Load> loads;
  AcceptTally tally(examine(config), processor_of(config.roots), kernel_version());
  if (config.roots.captured) {
    tally.without_loads("captured trees run without loads");
  } else {
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency() / 2);
    for (std::size_t i = 0; i < kLoadNames.size(); ++i) {
      WATTLE_TRY(Load load, Load::start(i, threads));
      loads.push_back(std::move(load));
    }
    const auto top = open_cgroup_top(config.roots);
    for (Load& load : loads)
      if (const std::string why = top ? load.own_cgroup(top->dir.path()) : "no cgroups"; !why.empty())
        tally.without_workloads("cannot create a cgroup: " + why);
  }
  WATTLE_TRY(const Fd stop, stop_signals());
  config.probes.clear();
  WATTLE_TRY(auto sampler, Sampler::open_(config, clock, 0));
  sampler.leave_out_raw();
  WATTLE_TRY(auto ticker, Ticker::start(config.tick));
  const auto ticks = std::max<std::int64_t>(2, options.phase / config.tick);
  const auto look = [&](std::size_t phase) {
    const Sample& sample = sampler.tick();
    tally.take(phase, sample, sampler.energy_meter().every_reading(), own_cpu_s());
  };
  look(0);  // start of the first interval
  for (std::size_t phase = 0; phase < kAcceptPhases.size(); ++phase) {
    std::cerr << "accept: " << phase + 1 << " of " << kAcceptPhases.size() << ": " << kAcceptPhases[phase].name << ", "
              << seconds(config.tick) * static_cast<double>(ticks) << " s\n";
    for (std::size_t i = 0; i < loads.size(); ++i) loads[i].burn(kAcceptPhases[phase].loads[i]);
    for (std::int64_t i = 0; i < ticks; ++i) {
      if (!ticker.wait(stop.get())) return fail(Errc::unavailable, "accept", "was stopped early", "");
      look(phase);
    }
  }
  tally.own_memory(own_memory_bytes());
  if (!options.report.empty()) WATTLE_CHECK(write_file_atomically(options.report, tally.json(), 0644));
  std::cout << (options.json ? tally.json() : tally.text());
  return tally.accepted();
}

}  // namespace wattle::agent
