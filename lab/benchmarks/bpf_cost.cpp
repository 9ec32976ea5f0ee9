// bpf_cost: measures the cost of our BPF programs per event and for 10,000 context switches per second.
// Method   Two processes pass a byte back and forth on one CPU, so that every byte causes a context switch. The
//          kernel's statistics (run_time_ns / run_cnt, BPF_STATS_RUN_TIME) give the cost per program. An empty program
//          on the same event is measured too, because reading the clock for the statistics dominates the cost of a
//          small program. Rounds with and without our programs alternate; reports medians. For the tcp program, two
//          ends of a connection pass a byte in a separate network namespace, by an address outside of 127.0.0.0/8,
//          because the program ignores loopback addresses
// Needs    root;  Usage: bpf_cost [SECONDS]
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/bpf/answer_times.hpp"
#include "agent/bpf/kernel_signals.hpp"
#include "agent/collect/cgroup_mount.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
using Seconds = std::chrono::duration<double>;

// Rate of round trips of a byte; each takes two context switches.
double round_trips_per_s(double for_s) {
  std::array<int, 2> there{}, back{};
  if (::pipe(there.data()) != 0 || ::pipe(back.data()) != 0) std::abort();
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  const pid_t child = ::fork();
  if (child == 0) {
    ::sched_setaffinity(0, sizeof(first), &first);
    char byte = 0;
    while (::read(there[0], &byte, 1) == 1 && ::write(back[1], &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  cpu_set_t all;
  ::sched_getaffinity(0, sizeof(all), &all);
  ::sched_setaffinity(0, sizeof(first), &first);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t trips = 0;
  char byte = 0;
  Seconds took{0};
  while (took.count() < for_s) {
    for (int i = 0; i < 1000; ++i)
      if (::write(there[1], &byte, 1) != 1 || ::read(back[0], &byte, 1) != 1) std::abort();
    trips += 1000;
    took = std::chrono::steady_clock::now() - start;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {there[0], there[1], back[0], back[1]}) ::close(fd);
  ::sched_setaffinity(0, sizeof(all), &all);
  return static_cast<double>(trips) / took.count();
}

// Moves this process into a new network namespace and gives its loopback interface a documentation address.
sockaddr_in own_network() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, "198.51.100.1", &address.sin_addr);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo:1");
  std::memcpy(&request.ifr_addr, &address, sizeof(address));
  if (::unshare(CLONE_NEWNET) != 0) std::abort();
  const int inside = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (::ioctl(inside, SIOCSIFADDR, &request) != 0) std::abort();
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(inside, SIOCSIFFLAGS, &request) != 0) std::abort();
  ::close(inside);
  return address;
}

// Runs in a child process. Each call opens a new connection, so that it starts after the programs are attached.
void tcp_round_trips(double for_s) {
  const pid_t child = ::fork();
  if (child == 0) {
    sockaddr_in address = own_network();
    socklen_t size = sizeof(address);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0), asker = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(listener, name, size) != 0 || ::listen(listener, 1) != 0 || ::getsockname(listener, name, &size) != 0 ||
        ::connect(asker, name, size) != 0)
      std::abort();
    const int answerer = ::accept(listener, nullptr, nullptr), at_once = 1;
    for (const int end : {asker, answerer}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    const auto start = std::chrono::steady_clock::now();
    char byte = 0;
    while (Seconds(std::chrono::steady_clock::now() - start).count() < for_s)
      for (int i = 0; i < 100; ++i)
        for (const auto& [from, to] : {std::pair(asker, answerer), std::pair(answerer, asker)})
          if (::write(from, &byte, 1) != 1 || ::read(to, &byte, 1) != 1) std::abort();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::fprintf(stderr, "no connection in a network namespace: is this root?\n");
}

struct Cost {
  std::uint64_t runs = 0, ns = 0;
};

// Costs by program name, of all loaded programs that carry one of our names.
std::map<std::string, Cost> costs() {
  std::map<std::string, Cost> out;
  for (std::uint32_t id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
    const int fd = bpf_prog_get_fd_by_id(id);
    bpf_prog_info info{};
    std::uint32_t size = sizeof(info);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) {
      const std::string name = info.name;
      if (name.starts_with("on_") || name == "empty") {
        out[name].runs += info.run_cnt;
        out[name].ns += info.run_time_ns;
      }
    }
    if (fd >= 0) ::close(fd);
  }
  return out;
}

int load_empty() {
  const std::array<bpf_insn, 2> code{
      {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
       {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}}};
  LIBBPF_OPTS(
      bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
      .attach_btf_id = static_cast<std::uint32_t>(libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP)));
  const int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", code.data(), code.size(), &options);
  return program < 0 ? program : bpf_raw_tracepoint_open(nullptr, program);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
}  // namespace

int main(int argc, char** argv) {
  const double for_s = argc > 1 ? std::atof(argv[1]) : 1;
  const auto top = open_cgroup_root(Roots{});
  const AgentConfig config;
  const auto load = [&] {
    std::vector<Finding> findings;
    auto signals = KernelSignals::load_(signal_options(config, top ? &*top : nullptr), findings);
    for (const auto& finding : findings)
      if (!finding.ok) std::fprintf(stderr, "%s\n", finding.text().c_str());
    return signals;
  };
  const int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
  if (statistics < 0) {
    std::perror("BPF statistics");
    return 1;
  }
  const auto measure = [&](const char* title, const std::function<void()>& make_load) {
    const auto before = costs();
    make_load();
    for (const auto& [name, after] : costs()) {
      const auto had = before.find(name);
      const Cost from = had == before.end() ? Cost{} : had->second;
      if (after.runs - from.runs < 10) continue;
      const double ns = static_cast<double>(after.ns - from.ns) / static_cast<double>(after.runs - from.runs);
      std::printf("%-22s %-14s %8.1f ns/run  %9llu runs  %6.3f%% of one CPU at 10,000/s\n", title, name.c_str(), ns,
                  static_cast<unsigned long long>(after.runs - from.runs), ns * 10'000 / 1e9 * 100);
    }
  };
  const auto switches = [&] { round_trips_per_s(for_s); };
  {
    const int link = load_empty();
    if (link < 0) std::perror("empty program");
    measure("empty program", switches);
    if (link >= 0) ::close(link);
  }
  {
    const auto signals = load();
    measure("as shipped", switches);
    measure("tcp", [&] { tcp_round_trips(for_s); });
  }
  // Following the root cgroup covers all connections. Afterwards no cgroup is followed, so a segment costs one lookup.
  const std::vector<AnswerTarget> targets{{"all", 0.1}};
  if (auto answers = AnswerTimes::load_(targets, top ? top->fd() : -1)) {
    answers->follow(0, top->inode().value_or(0));
    measure("answers, followed", [&] { tcp_round_trips(for_s); });
    std::printf("%-22s %llu answers counted\n", "", static_cast<unsigned long long>(answers->read(0).count));
    answers->follow(0, 0);
    measure("answers, of others", [&] { tcp_round_trips(for_s); });
  } else {
    std::fprintf(stderr, "%s\n", answers.error().message().c_str());
  }
  ::close(statistics);

  std::vector<double> without, with;
  for (int round = 0; round < 5; ++round) {
    without.push_back(round_trips_per_s(for_s / 2));
    const auto signals = load();
    with.push_back(round_trips_per_s(for_s / 2));
  }
  const double bare_ns = 1e9 / median(without) / 2, ours_ns = 1e9 / median(with) / 2;
  std::printf("per switch, statistics off: %.0f ns without, %.0f ns with our programs: %+.0f ns, ratio %.3f\n", bare_ns,
              ours_ns, ours_ns - bare_ns, ours_ns / bare_ns);
  return 0;
}
