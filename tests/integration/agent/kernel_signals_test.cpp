// The agent's BPF programs on the running kernel, compared with the kernel's own files and tools.
#include "agent/bpf/kernel_signals.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/collect/cgroup_mount.hpp"
#include "child.hpp"
#include "common/parse.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::Child;

namespace {
std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A cgroup for the test below the v2 mount, and the agent's view of it as a workload root.
class Workload {
 public:
  explicit Workload(const std::string& name) {
    auto top = open_cgroup_root(Roots{});
    if (!top) return;
    top_.emplace(std::move(*top));
    path_ = top_->path() + "/" + name;
    if (::mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) return;
    const auto dir = Dir::open_(path_);
    if (!dir) return;
    id_ = *dir->inode();
    index(true);
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  ~Workload() { remove(); }

  void remove() {
    std::ofstream(path_ + "/cgroup.kill") << "1";
    for (int i = 0; i < 200 && ::rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i) std::system("sleep 0.02");
    index(false);
  }
  bool made() const { return id_ != 0; }
  const Dir* top() const { return &*top_; }
  std::function<bool()> enter() const {
    return [path = path_] {
      std::ofstream procs(path + "/cgroup.procs");
      procs << "0" << std::flush;
      return procs.good();
    };
  }
  std::uint64_t usage_us() const { return parse::keyed_u64(file_text(path_ + "/cpu.stat"), "usage_usec").value_or(0); }
  std::uint64_t run_delay_us() const {
    std::uint64_t sum_ns = 0, on_cpu = 0, delay = 0;
    std::istringstream pids(file_text(path_ + "/cgroup.procs"));
    for (std::string pid; std::getline(pids, pid);) {
      std::istringstream(file_text("/proc/" + pid + "/schedstat")) >> on_cpu >> delay;
      sum_ns += delay;
    }
    return sum_ns / 1000;
  }
  KernelValues read(KernelSignals& signals, bool ended = false) {
    values_.resize(1);
    values_[0].cgroup_id = id_;
    values_[0].ended = ended;
    const bool changed = std::exchange(changed_, false);
    signals.read(clock_, roots_, changed, {}, node_, values_);
    return values_[0].kernel;
  }
  const NodeValues& node() const { return node_; }

 private:
  void index(bool with) {
    roots_.begin();
    roots_.add(1, RootIndex::kNobody);
    if (with) roots_.add(id_, id_);
    roots_.finish();
    changed_ = true;
  }
  SystemClock clock_;
  std::optional<Dir> top_;
  std::string path_;
  std::uint64_t id_ = 0;
  RootIndex roots_;
  bool changed_ = true;
  NodeValues node_;
  std::vector<WorkloadValues> values_;
};

// Returns why the program of that name cannot be tested here; empty if it can.
std::string lost_reason(const std::vector<Finding>& findings, const std::string& source) {
  for (const auto& finding : findings)
    if (finding.source == source || finding.source == "bpf")
      if (!finding.ok) return finding.text();
  return "";
}

struct Rig {
  explicit Rig(const std::string& source, std::vector<IpNetwork> near = {})
      : workload("wattle-test-signals-" + std::to_string(::getpid())) {
    if (!workload.made()) {
      skipped = "no cgroup can be created";
      return;
    }
    AgentConfig config;
    config.cluster_networks = std::move(near);
    std::vector<Finding> findings;
    signals.emplace(KernelSignals::load_(signal_options(config, workload.top()), findings));
    skipped = lost_reason(findings, source);
  }
  Workload workload;
  std::optional<KernelSignals> signals;
  std::string skipped;
};

#define SKIP_IF(rig)                      \
  if (!(rig).skipped.empty()) {           \
    MESSAGE("[skipped] ", (rig).skipped); \
    return;                               \
  }

// Interrupt and steal time of all processors since boot. cpu.stat excludes it; a program on a context switch cannot.
std::uint64_t not_ours_us() {
  std::istringstream line(file_text("/proc/stat"));
  std::string cpu;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  line >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return (irq + softirq + steal) * 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

void wait_s(const char* how_long) { CHECK(std::system((std::string("sleep ") + how_long).c_str()) == 0); }
}  // namespace

TEST_CASE("sched: a cgroup's time on CPU lies between two readings of its cpu.stat") {
  Rig rig("bpf-sched");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  Child load({"stress-ng", "--cpu", "1", "--cpu-load", "100", "--timeout", "30"}, workload.enter());
  wait_s("0.5");
  for (int round = 0; round < 3; ++round) {
    const auto not_ours = not_ours_us();
    const auto first_outer = workload.usage_us();
    workload.read(*signals);
    const auto first_inner = workload.usage_us();
    wait_s("1");
    const auto last_inner = workload.usage_us();
    const auto values = workload.read(*signals);
    const auto last_outer = workload.usage_us();
    REQUIRE(values.on_cpu_us.has_value());
    if (round == 0) continue;  // the first round only sets the baseline
    // The file lags by up to a kernel tick per CPU, and an unfinished run may contain interrupt and steal time.
    const std::uint64_t slack_us = 20'000 + (last_outer - first_outer) / 20 + not_ours_us() - not_ours;
    CHECK(*values.on_cpu_us + slack_us >= last_inner - first_inner);
    CHECK(*values.on_cpu_us <= last_outer - first_outer + slack_us);
    REQUIRE(workload.node().kernel.on_cpu_us.has_value());
    // Each total is truncated to whole microseconds, so two totals of the same time may differ by one.
    CHECK(*workload.node().kernel.on_cpu_us + 1 >= *values.on_cpu_us);
    std::uint64_t by_package = 0;
    for (const auto us : signals->package_use()[0].on_cpu_us) by_package += us;
    CHECK(by_package == *values.on_cpu_us);
  }
}

TEST_CASE("sched: a task that never leaves its CPU is counted while it runs") {
  Rig rig("bpf-sched");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  Child load({"stress-ng", "--cpu", "1", "--sched", "fifo", "--sched-prio", "1", "--timeout", "10"}, workload.enter());
  wait_s("0.5");
  workload.read(*signals);
  const auto before = workload.usage_us();
  wait_s("1");
  const auto values = workload.read(*signals);
  REQUIRE(values.on_cpu_us.has_value());
  CHECK(*values.on_cpu_us > (workload.usage_us() - before) / 2);
}

TEST_CASE("sched: waiting time for a CPU agrees with the tasks' schedstat") {
  Rig rig("bpf-sched");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  // Four processes that compete for one CPU.
  Child load({"taskset", "-c", "0", "stress-ng", "--cpu", "4", "--timeout", "30"}, workload.enter());
  wait_s("1");
  const auto first_outer = workload.run_delay_us();
  workload.read(*signals);
  const auto first_inner = workload.run_delay_us();
  wait_s("2");
  const auto last_inner = workload.run_delay_us();
  const auto values = workload.read(*signals);
  const auto last_outer = workload.run_delay_us();
  REQUIRE(values.run_queue_us.has_value());
  REQUIRE(values.run_queue_waits.has_value());
  CHECK(*values.run_queue_waits > 0);
  // A wait is counted when the following run ends, so each task may have one wait and one run beyond a reading.
  const std::uint64_t slack_us = (last_outer - first_outer) / 5 + 200'000;
  CHECK(*values.run_queue_us + slack_us >= last_inner - first_inner);
  CHECK(*values.run_queue_us <= last_outer - first_outer + slack_us);
  CHECK(*values.run_queue_us > 1'000'000);
}

TEST_CASE("sched: the last values of a removed cgroup include all of its work") {
  Rig rig("bpf-sched");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  workload.read(*signals);
  {
    // A fixed amount of work, regardless of its duration.
    Child load({"sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"}, workload.enter());
    load.wait();
  }
  const auto used_us = workload.usage_us();
  workload.remove();
  const auto values = workload.read(*signals, true);
  REQUIRE(values.on_cpu_us.has_value());
  CHECK(used_us > 100'000);
  CHECK(*values.on_cpu_us + used_us / 10 + 20'000 >= used_us);
}

TEST_CASE("block: direct writes are counted with their duration") {
  Rig rig("bpf-block");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  const std::string file = tests::bin_dir() + "/kernel_signals_test.direct";
  auto values = workload.read(*signals);
  // A busy kernel issues some writes from its own thread, which count for the node only; the test then repeats them.
  for (int attempt = 0; attempt < 10; ++attempt) {
    Child dd({"dd", "if=/dev/zero", "of=" + file, "bs=4096", "count=64", "oflag=direct"}, workload.enter());
    const std::string said = dd.rest();
    const int status = dd.wait();
    values = workload.read(*signals);
    std::filesystem::remove(file);
    if (status != 0) {
      MESSAGE("[skipped] direct writes do not work here: ", said);
      return;
    }
    REQUIRE(values.block_ios.has_value());
    CHECK(*workload.node().kernel.block_ios >= 64);
    if (*values.block_ios >= 64) break;
  }
  CHECK(*values.block_ios >= 64);
  CHECK(*values.block_io_us > 0);
  CHECK(*workload.node().kernel.block_ios >= *values.block_ios);
}

namespace {
constexpr const char* kPeer = "198.51.100.2";  // TEST-NET-2
constexpr std::uint16_t kPort = 7474;

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// A network namespace behind a veth pair, with an echo server in it.
class Peer {
 public:
  Peer() {
    run("ip netns del wattle-peer");
    made_ =
        run("ip netns add wattle-peer") && run("ip link add wattle-v0 type veth peer name wattle-v1") &&
        run("ip link set wattle-v1 netns wattle-peer") && run("ip addr add 198.51.100.1/30 dev wattle-v0") &&
        run("ip link set wattle-v0 up") && run("ip netns exec wattle-peer ip addr add 198.51.100.2/30 dev wattle-v1") &&
        run("ip netns exec wattle-peer ip link set wattle-v1 up") && run("ip netns exec wattle-peer ip link set lo up");
    if (made_)
      echo_.emplace(std::vector<std::string>{"ip", "netns", "exec", "wattle-peer", "python3", "-c", R"(
import socket
s = socket.create_server(('', 7474))
print('listening', flush=True)
while True:
    c, _ = s.accept()
    while (d := c.recv(65536)): c.sendall(d)
)"});
    made_ = made_ && echo_->line() == "listening";
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    echo_.reset();
    run("ip link del wattle-v0");
    run("ip netns del wattle-peer");
  }
  bool made() const { return made_; }

 private:
  bool made_ = false;
  std::optional<Child> echo_;
};

// Sends a message and waits for its echo, a hundred times.
int talk(const Workload& workload, const std::string& address, const std::string& port = std::to_string(kPort)) {
  Child client({"python3", "-c",
                "import socket\n"
                "s = socket.create_connection(('" +
                    address + "', " + port +
                    "))\n"
                    "for i in range(100):\n"
                    "    s.sendall(b'x' * 1000)\n"
                    "    n = 0\n"
                    "    while n < 1000: n += len(s.recv(1000))\n"},
               workload.enter());
  return client.wait();
}
}  // namespace

TEST_CASE("tcp: round trips to peers outside the cluster networks count for the workload, those within do not") {
  const Peer peer;
  if (!peer.made()) {
    MESSAGE("[skipped] no network namespaces here");
    return;
  }
  SUBCASE("outside") {
    Rig rig("bpf-tcp");
    SKIP_IF(rig);
    auto& [workload, signals, skipped] = rig;
    workload.read(*signals);
    REQUIRE(talk(workload, kPeer) == 0);
    const auto values = workload.read(*signals);
    REQUIRE(values.tcp_srtt_samples.has_value());
    CHECK(*values.tcp_srtt_samples >= 50);
    REQUIRE(values.tcp_srtt_us.has_value());
    CHECK(*values.tcp_srtt_us > 1);
    CHECK(*values.tcp_srtt_us < 1e6);
  }
  SUBCASE("within") {
    Rig rig("bpf-tcp", {*parse_network("198.51.100.0/24")});
    SKIP_IF(rig);
    auto& [workload, signals, skipped] = rig;
    workload.read(*signals);
    REQUIRE(talk(workload, kPeer) == 0);
    const auto values = workload.read(*signals);
    REQUIRE(values.tcp_srtt_samples.has_value());
    CHECK(*values.tcp_srtt_samples == 0);
    CHECK_FALSE(values.tcp_srtt_us.has_value());
  }
}

TEST_CASE("tcp: loopback round trips are not counted") {
  Rig rig("bpf-tcp");
  SKIP_IF(rig);
  auto& [workload, signals, skipped] = rig;
  Child echo({"python3", "-c", R"(
import socket
s = socket.create_server(('127.0.0.1', 0))
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
while (d := c.recv(65536)): c.sendall(d)
)"});
  const auto port = echo.line();
  REQUIRE(port);
  workload.read(*signals);
  REQUIRE(talk(workload, "127.0.0.1", *port) == 0);
  const auto values = workload.read(*signals);
  REQUIRE(values.tcp_srtt_samples.has_value());
  CHECK(*values.tcp_srtt_samples == 0);
}
