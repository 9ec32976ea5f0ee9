#include "agent/collect/procfs.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "agent/collect/psi.hpp"
#include "tests/places.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;

namespace {
const Accept kAll = [](std::string_view) { return true; };
}

TEST_CASE("busy time includes interrupts, but neither waiting nor stolen time, and guests once") {
  const auto cpu = parse_stat("cpu  100 20 30 1000 400 5 6 77 50 0\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5\n", 100);
  REQUIRE(cpu);
  CHECK(cpu->busy_us == (100 + 20 + 30 + 5 + 6) * 10'000);
  CHECK(cpu->idle_us == 1400 * 10'000);
  CHECK(cpu->cores == 2);
}

TEST_CASE("time that a hypervisor took is read by CPU number, and takes no space on a machine of its own") {
  const auto taken = parse_stat(
      "cpu  100 20 30 1000 400 5 6 77 50 0\ncpu0 1 2 3 4 5 6 7 40 1 0\n"
      "cpu3 1 2 3 4 5 6 7 37 1 0\ncpu99999999999 1 2 3 4 5 6 7 8\nintr 5\n",
      100);
  REQUIRE(taken);
  CHECK(taken->stolen_us == std::vector<std::uint64_t>{400'000, 0, 0, 370'000});
  CHECK(parse_stat("cpu  1 2 3 4 5 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n", 100)->stolen_us.empty());
  CHECK(parse_stat("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n", 100)->stolen_us.empty());
}

TEST_CASE("cores in use are busy time over real time, at most those online, and absent when counters fall") {
  const CpuCounters a{1'000'000, 0, 2}, b{2'500'000, 0, 2};
  CHECK(*mean_cores(a, b, 1s) == doctest::Approx(1.5));
  CHECK(*mean_cores(a, b, 500ms) == doctest::Approx(2));
  CHECK_FALSE(mean_cores(b, a, 1s).has_value());
  const CpuCounters fewer{9'000'000, 0, 1};
  CHECK(*mean_cores(CpuCounters{1'000'000, 0, 8}, fewer, 1s) == doctest::Approx(8));  // seven went offline
  CHECK_FALSE(mean_cores(a, b, 0s).has_value());
}

TEST_CASE("memory in use is total minus available") {
  const auto memory = parse_meminfo("MemTotal:   1000 kB\nMemFree:  10 kB\nMemAvailable:   400 kB\n");
  REQUIRE(memory);
  CHECK(memory->total_bytes == 1'024'000);
  CHECK(memory->available_bytes == 409'600);
  CHECK_FALSE(parse_meminfo("MemTotal: 1000 kB\n").has_value());  // kernels before 3.14
  CHECK_FALSE(parse_meminfo("MemTotal: 10 kB\nMemAvailable: 11 kB\n").has_value());
}

TEST_CASE("interfaces are parsed even if their columns run together") {
  std::vector<IoCounters> found;
  parse_net_dev(
      "Inter-|   Receive  |  Transmit\n face |bytes packets\n  eth0:246200313 6151 0 0 0 0 0 0 213579 2404 0 0 0 0 0 "
      "0\n"
      "    lo: 1 2 3\n",
      kAll, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "eth0");
  CHECK(found[0].in_bytes == 246200313);
  CHECK(found[0].out_bytes == 213579);
}

TEST_CASE("disk sectors are 512 bytes") {
  std::vector<IoCounters> found;
  parse_diskstats(" 254 0 vda 53393 10808 3056 32253 58110 11672 4021 14606 0 24176 47938\n", kAll, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].in_bytes == 3056 * 512);
  CHECK(found[0].out_bytes == 4021 * 512);
}

TEST_CASE("established connections are found by their column's name") {
  CHECK(*parse_snmp("Ip: A B\nIp: 1 2\nTcp: MaxConn CurrEstab InSegs\nTcp: -1 17 5\n") == 17);
  CHECK_FALSE(parse_snmp("Tcp: MaxConn CurrEstab\n").has_value());
  CHECK_FALSE(parse_snmp("Tcp: A CurrEstab\nTcp: 1\n").has_value());
}

TEST_CASE("a rate counts only what is in both readings and did not restart") {
  const std::vector<IoCounters> a{{"eth0", 100, 1000}, {"eth1", 5, 5}};
  const std::vector<IoCounters> b{{"eth2", 7'000, 7'000}, {"eth0", 300, 10}};
  const auto rate = mean_rate(a, b, 2s);
  REQUIRE(rate);
  CHECK(rate->in_bytes_per_s == doctest::Approx(100));
  CHECK(rate->out_bytes_per_s == doctest::Approx(0));
}

TEST_CASE("whole disks are distinguished from partitions and stacked devices by name if /sys does not say") {
  for (const char* disk : {"sda", "vdb", "nvme0n1", "mmcblk0", "xvda"}) CHECK_MESSAGE(looks_whole_disk(disk), disk);
  for (const char* part :
       {"sda1", "vdb12", "nvme0n1p2", "mmcblk0p1", "dm-0", "loop3", "zram0", "md127", "drbd0", "bcache0", "nvme0c1n1"})
    CHECK_MESSAGE(!looks_whole_disk(part), part);
}

TEST_CASE(
    "each byte is counted once on bonds, bridges, VLANs, accelerated networks, arrays and disks with several paths") {
  const std::string zeros = ": 10 0 0 0 0 0 0 0 20 0 0 0 0 0 0 0\n";
  std::string net = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n";
  for (const char* name :
       {"lo", "eth0", "eth1", "bond0", "bond0.100", "br0", "veth1", "eth2", "enP1s1", "eth0_3", "en3f0pf0sf8"})
    net += name + zeros;
  std::string disks;
  for (const char* name : {"sda", "sda1", "sdb", "md0", "dm-0", "nvme0n1", "nvme0c0n1", "odd0", "cciss/c0d0"})
    disks += "8 0 " + std::string(name) + " 1 0 2 0 1 0 4 0 0 0 0\n";
  const agent::test::Tree tree{{"proc/net/dev", net},
                               {"proc/diskstats", disks},
                               {"sys/class/net/eth0/device/x", ""},
                               {"sys/class/net/eth0/master/bonding", ""},  // bond0 is not a device: its ports count
                               {"sys/class/net/eth1/device/x", ""},
                               {"sys/class/net/eth1/master/bonding", ""},
                               {"sys/class/net/bond0/bonding", ""},
                               {"sys/class/net/bond0.100/mtu", ""},
                               {"sys/class/net/br0/bridge", ""},
                               {"sys/class/net/eth2/device/x", ""},  // netvsc: counts the traffic of its port enP1s1
                               {"sys/class/net/enP1s1/device/x", ""},
                               {"sys/class/net/enP1s1/master/device/x", ""},
                               {"sys/class/net/eth0/phys_port_name", "p0\n"},
                               {"sys/class/net/eth0_3/device/x", ""},  // stands for a virtual function of eth0
                               {"sys/class/net/eth0_3/phys_port_name", "pf0vf3\n"},
                               {"sys/class/net/en3f0pf0sf8/device/x", ""},
                               {"sys/class/net/en3f0pf0sf8/phys_port_name", "c1pf0sf8\n"},
                               {"sys/block/sda/hidden", "0\n"},
                               {"sys/block/sdb/slaves/.keep/x", ""},
                               {"sys/block/md0/slaves/sda/x", ""},
                               {"sys/block/dm-0/slaves/sda/x", ""},
                               {"sys/block/nvme0n1/hidden", "0\n"},
                               {"sys/block/nvme0c0n1/hidden", "1\n"},
                               {"sys/block/odd0/slaves/sda/x", ""},
                               {"sys/block/cciss!c0d0/hidden", "0\n"}};
  tree.remove("sys/block/sdb/slaves/.keep");
  auto procfs = Procfs::open_(Roots::below(tree.path()), 100);
  REQUIRE(procfs);
  NodeCounters now;
  std::vector<char> scratch(1 << 16);
  std::vector<std::pair<std::string, Error>> errors;
  procfs->read(now, ManualClock(), scratch, errors);
  const auto names = [](const std::optional<std::vector<IoCounters>>& all) {
    std::string text;
    for (const auto& one : *all) text += one.name + " ";
    return text;
  };
  CHECK(names(now.interfaces) == "eth0 eth1 eth2 ");
  CHECK(names(now.disks) == "sda sdb nvme0n1 cciss/c0d0 ");
}

TEST_CASE("a port that joins an accelerated network after it appeared is no longer counted after a minute") {
  const agent::test::Tree tree{{"proc/net/dev", "h\nh\neth0: 1 0 0 0 0 0 0 0 2\nenP1s1: 1 0 0 0 0 0 0 0 2\n"},
                               {"sys/class/net/eth0/device/x", ""},
                               {"sys/class/net/enP1s1/device/x", ""}};
  auto procfs = Procfs::open_(Roots::below(tree.path()), 100);
  REQUIRE(procfs);
  NodeCounters now;
  std::vector<char> scratch(1 << 16);
  std::vector<std::pair<std::string, Error>> errors;
  ManualClock clock{mono_from_ns(1)};
  const auto counted = [&] {
    procfs->read(now, clock, scratch, errors);
    return now.interfaces->size();
  };
  CHECK(counted() == 2);
  tree.put("sys/class/net/enP1s1/master/device/x", "");
  CHECK(counted() == 2);
  clock.advance(std::chrono::seconds(61));
  CHECK(counted() == 1);
  CHECK(now.interfaces->front().name == "eth0");
}

TEST_CASE("link capacity is that of counted interfaces, one way; down or virtual ones have none") {
  const agent::test::Tree tree{{"proc/net/dev", "h\nh\nlo: 1 0 0 0 0 0 0 0 2\n"},
                               {"sys/class/net/eth0/speed", "10000\n"},
                               {"sys/class/net/eth1/speed", "1000\n"},
                               {"sys/class/net/eth2/speed", "-1\n"},
                               {"sys/class/net/eth3/speed", "fast\n"},
                               {"sys/class/net/eth4/speed", "4294967295\n"}};
  auto procfs = Procfs::open_(Roots::below(tree.path()), 100);
  REQUIRE(procfs);
  const auto carried = [&](std::initializer_list<const char*> names) {
    std::vector<IoCounters> interfaces;
    for (const char* name : names) interfaces.push_back({name, 0, 0});
    return procfs->link_bytes_per_s(interfaces);
  };
  CHECK(carried({"eth0"}) == 1.25e9);
  CHECK(carried({"eth0", "eth1", "eth2", "eth3", "eth4"}) == 1.375e9);
  CHECK(carried({"eth2", "eth3", "eth4"}) == 0);
  CHECK(carried({}) == 0);
}

TEST_CASE("a captured machine gives its one interface and one disk, and none of our file systems") {
  const std::string fixture = tests::source_dir() + "/tests/fixtures/agent/vm-hybrid-cgroup";
  auto procfs = Procfs::open_(Roots::below(fixture), 100);
  REQUIRE(procfs);
  NodeCounters now;
  std::vector<char> scratch(1 << 16);
  std::vector<std::pair<std::string, Error>> errors;
  const ManualClock clock;
  procfs->read(now, clock, scratch, errors);
  CHECK(errors.empty());
  REQUIRE(now.interfaces);
  REQUIRE(now.interfaces->size() == 1);
  CHECK(now.interfaces->at(0).name == "eth0");
  REQUIRE(now.disks);
  REQUIRE(now.disks->size() == 1);
  CHECK(now.disks->at(0).name == "vda");
  CHECK(now.cpu->cores == 2);
  CHECK_FALSE(now.disk_used_ratio.has_value());
}

TEST_CASE("a missing file blanks its own values and is named; it is used again when it returns") {
  const agent::test::Tree tree{{"proc/stat", "cpu  1 1 1 1 1 1 1\ncpu0 1\n"}, {"proc/meminfo", "nonsense"}};
  auto procfs = Procfs::open_(Roots::below(tree.path()), 100);
  REQUIRE(procfs);
  NodeCounters now;
  std::vector<char> scratch(4096);
  std::vector<std::pair<std::string, Error>> errors;
  const ManualClock clock;
  procfs->read(now, clock, scratch, errors);
  CHECK(now.cpu.has_value());
  CHECK_FALSE(now.memory.has_value());
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].first == "memory");
  CHECK(errors[0].second.code == Errc::malformed);
  CHECK(errors[1].second.subject == tree.path() + "/proc/net/dev");
  tree.put("proc/meminfo", "MemTotal: 4 kB\nMemAvailable: 1 kB\n");
  errors.clear();
  procfs->read(now, clock, scratch, errors);
  CHECK(now.memory.has_value());
}

namespace {
std::string connections(int number) { return "Tcp: MaxConn CurrEstab\nTcp: -1 " + std::to_string(number) + "\n"; }
}  // namespace

TEST_CASE("connections of each network namespace are counted once, whatever its processes, and end with it") {
  const agent::test::Tree tree{{"proc/1/net/dev", "h\nh\n"},
                               {"proc/1/net/snmp", connections(7)},
                               {"proc/20/net/snmp", connections(30)},
                               {"proc/uptime", "1 1\n"},
                               {"proc/fs/nfs", ""}};
  const std::filesystem::path proc = tree.path() + "/proc";
  const auto enter = [&](const char* pid, const char* other) {
    std::filesystem::create_directory(proc / pid);
    std::filesystem::create_directory_symlink(proc / other / "net", proc / pid / "net");
  };
  enter("2", "1");
  enter("21", "20");
  auto procfs = Procfs::open_(Roots::below(tree.path()), 100);
  REQUIRE(procfs);
  ManualClock clock;
  const auto counted = [&] {
    NodeCounters now;
    std::vector<char> scratch(4096);
    std::vector<std::pair<std::string, Error>> errors;
    procfs->read(now, clock, scratch, errors);
    return now.tcp_established.value_or(0);
  };
  CHECK(counted() == 37);
  // Known namespaces are read at each tick; a new pod is found by the next list of processes.
  tree.put("proc/20/net/snmp", connections(31));
  tree.put("proc/300/net/snmp", connections(100));
  clock.advance(1s);
  CHECK(counted() == 38);
  clock.advance(NetNamespaces::kListEvery);
  CHECK(counted() == 138);
  // The known process of a namespace ends, and the next list finds another one. The first pod ends.
  enter("301", "300");
  tree.remove("proc/20");
  tree.remove("proc/21");
  clock.advance(1s);
  CHECK(counted() == 107);
  clock.advance(NetNamespaces::kListEvery);
  CHECK(counted() == 107);
  // Another process gets the number.
  tree.put("proc/spare/net/snmp", connections(9));  // exists together with the old one, so that its inode differs
  tree.remove("proc/301");
  tree.remove("proc/300");
  std::filesystem::rename(proc / "spare", proc / "300");
  clock.advance(1s);
  CHECK(counted() == 7);
  clock.advance(NetNamespaces::kListEvery);
  CHECK(counted() == 16);
}

TEST_CASE("with hundreds of network namespaces a bounded number is read per tick, and eventually all") {
  const agent::test::Tree tree{{"proc/net/snmp", connections(0)}};
  constexpr int kPods = 100;
  for (int pid = 2; pid < 2 + kPods; ++pid) tree.put("proc/" + std::to_string(pid) + "/net/snmp", connections(1));
  const auto proc = Dir::open_(tree.path() + "/proc");
  REQUIRE(proc);
  NetNamespaces networks;
  std::vector<char> scratch(4096);
  std::uint64_t before = 0;
  int ticks = 0;
  for (; before < kPods && ticks < 60; ++ticks) {
    const auto now = networks.read(*proc, "net/snmp", mono_from_ns(ticks * 1'000'000'000LL), scratch);
    CHECK(now - before <= NetNamespaces::kRead);
    before = now;
  }
  CHECK(before == kPods);
  CHECK(ticks == (kPods + static_cast<int>(NetNamespaces::kRead) - 1) / static_cast<int>(NetNamespaces::kRead));
}

TEST_CASE("pressure totals are parsed with and without the line for some, and become a share of the interval") {
  const auto cpu = parse_psi(
      "some avg10=0.02 avg60=0.27 avg300=0.76 total=15791866\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  CHECK(*cpu.some_us == 15791866);
  CHECK(*cpu.full_us == 0);
  const auto irq = parse_psi("full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
  CHECK_FALSE(irq.some_us.has_value());
  CHECK(*irq.full_us == 9);
  CHECK(*mean_ratio(1'000'000, 1'250'000, 500ms) == doctest::Approx(0.5));
  CHECK(*mean_ratio(0, 3'000'000, 1s) == doctest::Approx(1));
  CHECK_FALSE(mean_ratio(5, 4, 1s).has_value());
  CHECK_FALSE(mean_ratio(std::nullopt, 4, 1s).has_value());
}

TEST_CASE("waiting for a task's own limit does not count: throttled time sums CPUs, pressure averages busy ones") {
  // Measured on Linux 6.18: threads that always want to run, under a quota.
  CHECK(waiting_share(0.697, 0.689, 0.303) == doctest::Approx(0.008));  // one, 0.3 cores
  CHECK(waiting_share(0.801, 1.562, 0.398) < 0.01);                     // two on two CPUs, 0.4 cores
  CHECK(waiting_share(0.454, 0.037, 0.164) > 0.4);                      // one that seldom gets its permitted share
  // A workload that sleeps: throttled for a tenth of the time.
  CHECK(waiting_share(0.1, 0.1, 0.2) == doctest::Approx(0));
  CHECK(waiting_share(0.3, 0.1, 0.2) == doctest::Approx(0.2));
  CHECK(waiting_share(0.3, 0, 4) == 0.3);
  CHECK(rc::check([] {
    const auto number = [] { return *rc::gen::inRange(-10, 400) / 100.0; };
    const double some = number(), throttled = number(), used = number(), waited = waiting_share(some, throttled, used);
    RC_ASSERT(waited >= 0);
    RC_ASSERT(waited <= std::clamp(some, 0.0, 1.0));
  }));
}

TEST_CASE("no parser fails on garbage") {
  CHECK(rc::check([](const std::string& text) {
    parse_stat(text, 100);
    parse_stat("cpu " + text, 100);
    parse_meminfo("MemTotal:" + text);
    parse_snmp("Tcp: " + text + "\nTcp: " + text);
    parse_psi("some " + text + " total=" + text);
    std::vector<IoCounters> found;
    parse_net_dev(text + ":" + text, kAll, found);
    parse_diskstats(text, kAll, found);
  }));
}

TEST_CASE("bytes of an NVMe multipath drive count once, whether or not the kernel leaves its head at zero") {
  const auto bytes = [](const std::string& text) {
    std::vector<IoCounters> found;
    parse_diskstats(text, looks_whole_disk, found);
    std::string sectors;
    for (const auto& one : found)
      sectors += one.name + " " + std::to_string(one.in_bytes / 512) + "/" + std::to_string(one.out_bytes / 512) + " ";
    return sectors;
  };
  const auto line = [](const char* name, int read, int written) {
    return "259 0 " + std::string(name) + " 9 0 " + std::to_string(read) + " 0 9 0 " + std::to_string(written) +
           " 0 0 0 0\n";
  };
  CHECK(bytes(line("nvme3c33n1", 100, 20) + line("nvme3c34n1", 7, 1) + line("nvme3n1", 0, 0)) == "nvme3n1 107/21 ");
  CHECK(bytes(line("nvme3n1", 0, 0) + line("nvme3c33n1", 100, 20)) == "nvme3n1 100/20 ");
  CHECK(bytes(line("nvme3n1", 90, 20) + line("nvme3c33n1", 100, 20)) == "nvme3n1 90/20 ");
  CHECK(bytes(line("nvme0n1", 0, 0) + line("nvme0n2", 5, 5) + line("nvme0c0n1", 3, 4) + line("nvme10c0n1", 9, 9)) ==
        "nvme0n1 3/4 nvme0n2 5/5 ");
  CHECK(bytes(line("sda", 1, 2)) == "sda 1/2 ");
  for (const char* none : {"nvme3n1", "nvme3c33n1p1", "nvme3cn1", "nvmec1n1", "sdac1n1", "nvme1c1", ""})
    CHECK(multipath_head(none) == "");
  CHECK(multipath_head("nvme3c33n1") == "nvme3n1");
}
