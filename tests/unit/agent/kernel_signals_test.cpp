#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <numeric>

#include "agent/bpf/cpu_watch.hpp"
#include "agent/bpf/networks.hpp"
#include "agent/bpf/signal_sums.hpp"
#include "agent/collect/cpu_topology.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
constexpr std::uint64_t kPod = 100, kContainer = 101, kOther = 200;
constexpr std::size_t kBuckets = 2;

// The table as the kernel's programs fill it.
struct Kernel {
  explicit Kernel(std::size_t package_count = 1, std::size_t cpu_count = 0)
      : packages(package_count),
        buckets(kBuckets),
        parents(kBuckets * WATTLE_BUCKET_WAYS),
        counters(package_count * row()),
        cpus(cpu_count) {}
  static std::size_t row() { return kBuckets * WATTLE_BUCKET_WAYS + WATTLE_EXTRA_SLOTS; }
  SignalTable table() { return {buckets, parents, counters, cpus, packages}; }
  void place(std::size_t slot, std::uint64_t id) {
    buckets[slot / WATTLE_BUCKET_WAYS].id[slot % WATTLE_BUCKET_WAYS] = id;
  }
  std::uint64_t id_at(std::size_t slot) const {
    return buckets[slot / WATTLE_BUCKET_WAYS].id[slot % WATTLE_BUCKET_WAYS];
  }
  wattle_counters& at(std::size_t slot, std::size_t package = 0) { return counters[package * row() + slot]; }

  std::size_t packages;
  std::vector<wattle_bucket> buckets;
  std::vector<wattle_parents> parents;
  std::vector<wattle_counters> counters;
  std::vector<wattle_cpu> cpus;
};

RootIndex index_of(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
  RootIndex index;
  index.begin();
  for (const auto& [id, root] : entries) index.add(id, root);
  index.finish();
  return index;
}
const RootIndex kRoots = index_of({{1, RootIndex::kNobody}, {kPod, kPod}, {kContainer, kPod}, {kOther, kOther}});
}  // namespace

TEST_CASE("root index: distinguishes a nested cgroup's root, one without an owner, and an unknown one") {
  CHECK(kRoots.root_of(kContainer) == kPod);
  CHECK(kRoots.root_of(1) == RootIndex::kNobody);
  CHECK_FALSE(kRoots.root_of(55).has_value());
}

TEST_CASE("root index: a repeated walk is not a change, a different one is") {
  RootIndex index = index_of({{7, 7}, {5, 5}});
  index.begin();
  index.add(7, 7);
  index.add(5, 5);
  CHECK_FALSE(index.finish());
  index.begin();
  index.add(7, 7);
  CHECK(index.finish());
  CHECK_FALSE(index.root_of(5).has_value());
}

TEST_CASE("signal sums: a pod has the signals of its own and its containers' tasks, package by package") {
  Kernel kernel(2);
  kernel.place(3, kPod);
  kernel.place(9, kContainer);
  SignalSums sums(kernel.table());
  kernel.at(3, 0).on_cpu_ns = 100;
  kernel.at(9, 1).on_cpu_ns = 1000;
  kernel.at(9, 1).run_delay_ns = 70;
  kernel.at(9, 1).waits = 2;
  sums.read(1, kRoots, true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns == std::vector<std::uint64_t>{100, 1000});
  CHECK(sums.root(kPod)->run_delay_ns == 70);
  CHECK(sums.root(kPod)->waits == 2);
  CHECK(sums.root(kOther) == nullptr);
  sums.read(2, kRoots, false);
  CHECK(sums.root(kPod)->on_cpu_ns == std::vector<std::uint64_t>{100, 1000});
}

TEST_CASE("signal sums: a running task is counted up to now, once") {
  Kernel kernel(1, 2);
  kernel.place(0, kPod);
  SignalSums sums(kernel.table());
  kernel.at(0).on_cpu_ns = 50;
  kernel.cpus[1].in_at_ns = 1'000;
  kernel.cpus[1].slot = 0;
  sums.read(1'400, kRoots, true);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 450);
  sums.read(2'000, kRoots, false);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 1'050);
  // The task stops after 1,100 ns.
  kernel.at(0).on_cpu_ns += 1'100;
  kernel.cpus[1].in_at_ns = 0;
  sums.read(3'000, kRoots, false);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 1'150);
}

TEST_CASE("signal sums: a run that ends in a switch during the reading is counted") {
  Kernel kernel(1, 2);
  kernel.place(0, kPod);
  kernel.place(1, kOther);
  SignalSums sums(kernel.table());
  kernel.cpus[0].in_at_ns = 1'000;
  kernel.cpus[0].slot = 1;
  kernel.cpus[1].switches = 7;  // in a switch: the run is not in the counters yet
  int looks = 0;
  const auto cycles_now = [&](std::size_t) {
    if (++looks == 3) {
      kernel.at(0).on_cpu_ns = 300;
      kernel.cpus[1].switches = 8;
    }
    return std::optional<std::uint64_t>();
  };
  sums.read(2'000, kRoots, true, cycles_now);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 300);
  // A switch that does not end, because its CPU is stopped, ends the looks.
  kernel.cpus[1].switches = 9;
  looks = 3;
  sums.read(3'000, kRoots, false, cycles_now);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 300);
  CHECK(sums.root(kOther)->on_cpu_ns[0] == 2'000);
}

TEST_CASE("signal sums: a run that was shorter than the clock showed subtracts nothing") {
  Kernel kernel(1, 1);
  kernel.place(0, kPod);
  SignalSums sums(kernel.table());
  kernel.cpus[0].in_at_ns = 1'000;
  sums.read(2'000, kRoots, true);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 1'000);
  kernel.at(0).on_cpu_ns = 900;  // a tenth went to interrupts
  kernel.cpus[0].in_at_ns = 0;
  sums.read(2'100, kRoots, false);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 1'000);
  kernel.at(0).on_cpu_ns = 1'300;
  sums.read(2'500, kRoots, false);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 1'300);
}

TEST_CASE("signal sums: time that a hypervisor took is not part of an unfinished run") {
  Kernel kernel(1, 2);
  kernel.place(0, kPod);
  kernel.place(1, kOther);
  SignalSums sums(kernel.table());
  kernel.cpus[0].in_at_ns = 1'000'000;
  kernel.cpus[1].slot = 1;
  const auto read = [&](std::uint64_t now_us, std::vector<std::uint64_t> stolen_us) {
    sums.read(1000 * now_us, kRoots, false, {}, stolen_us);
    return sums.root(kPod)->on_cpu_ns[0] / 1000;
  };
  CHECK(read(11'000, {500'000, 0}) == 10'000);  // the first reading does not know the time before
  CHECK(read(21'000, {504'000, 0}) == 16'000);
  CHECK(read(31'000, {510'000, 0}) == 20'000);
  // The run ends: its task's own runtime counts.
  kernel.at(0).on_cpu_ns = 20'500'000;
  kernel.cpus[0].in_at_ns = 0;
  kernel.cpus[1].in_at_ns = 36'000'000;  // the second half of the interval
  CHECK(read(41'000, {520'000, 4'000}) == 20'500);
  CHECK(sums.root(kOther)->on_cpu_ns[0] == 3'000'000);
  // A CPU without the value counts as before, and a value that falls takes nothing.
  CHECK(read(51'000, {520'000}) == 20'500);
  CHECK(sums.root(kOther)->on_cpu_ns[0] == 15'000'000);
  kernel.cpus[0].in_at_ns = 51'000'000;
  CHECK(read(61'000, {1'000}) == 30'500);
}

TEST_CASE("signal sums: cycles of a current run come from the CPU's own counter") {
  Kernel kernel(1, 1);
  kernel.place(0, kPod);
  SignalSums sums(kernel.table());
  kernel.cpus[0].in_at_ns = 1;
  kernel.cpus[0].cycles_at_in = 5'000;
  sums.read(10, kRoots, true, [](std::size_t) { return std::optional<std::uint64_t>(8'000); });
  CHECK(sums.root(kPod)->cycles[0] == 3'000);
}

TEST_CASE("signal sums: a cgroup that the tree learns of later loses nothing") {
  Kernel kernel;
  kernel.place(5, kContainer);
  kernel.at(5).on_cpu_ns = 77;
  SignalSums sums(kernel.table());
  const RootIndex before = index_of({{1, RootIndex::kNobody}});
  sums.read(1, before, true);
  CHECK(sums.root(kPod) == nullptr);
  CHECK(sums.node().on_cpu_ns[0] == 77);  // counts for the node at once, not as a burst of a later interval
  CHECK(sums.unread_on_cpu_ns(kContainer) == (kernel.cpus.empty() ? std::nullopt : std::optional<std::uint64_t>(77)));
  kernel.at(5).on_cpu_ns = 80;
  sums.read(2, kRoots, true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 80);
  CHECK(sums.node().on_cpu_ns[0] == 80);
}

TEST_CASE("signal sums: signals before the first reading do not go to a later root") {
  Kernel kernel;
  kernel.place(5, kContainer);
  kernel.at(5).on_cpu_ns = 77;
  SignalSums sums(kernel.table());
  sums.read(1, index_of({{1, RootIndex::kNobody}}), true);
  sums.drop_unclaimed();
  kernel.at(5).on_cpu_ns = 80;
  sums.read(2, kRoots, true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 3);
}

TEST_CASE("signal sums: a cgroup that was never in the tree belongs to its nearest ancestor that was") {
  Kernel kernel;
  kernel.place(5, 999);
  kernel.parents[5].id[0] = 998;
  kernel.parents[5].id[1] = kContainer;
  kernel.at(5).on_cpu_ns = 10;
  SignalSums sums(kernel.table());
  sums.read(1, kRoots, true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 10);
}

TEST_CASE("signal sums: the last values of an ended cgroup go to its root") {
  Kernel kernel;
  kernel.place(2, kContainer);
  kernel.parents[2].id[0] = 1;  // the parent still lives
  SignalSums sums(kernel.table());
  kernel.at(2).on_cpu_ns = 5;
  sums.read(1, kRoots, true);
  kernel.at(2).on_cpu_ns = 25;
  sums.read(2, index_of({{1, RootIndex::kNobody}}), true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 25);
}

TEST_CASE("signal sums: a pod that started and ended within one interval keeps its signals") {
  Kernel kernel;
  SignalSums sums(kernel.table());
  RootIndex roots = kRoots;
  sums.read(1, roots, true);
  kernel.place(2, kContainer);
  kernel.parents[2].id[0] = 1;  // the parent still lives
  kernel.at(2).on_cpu_ns = 40;
  roots.begin();
  roots.add(1, RootIndex::kNobody);
  REQUIRE(roots.finish());
  sums.read(2, roots, true);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 40);
}

TEST_CASE("signal sums: a cgroup that was in no tree still counts for the node") {
  Kernel kernel;
  kernel.place(2, 4'242);
  kernel.at(2).blocks = 3;
  kernel.at(2).block_ns = 300;
  SignalSums sums(kernel.table());
  for (std::uint64_t tick = 1; tick <= 10; ++tick) sums.read(tick, kRoots, tick == 1);
  CHECK(sums.node().blocks == 3);
  CHECK(sums.node().block_ns == 300);
}

TEST_CASE("signal sums: the slot of an ended, quiet cgroup is freed, and its next owner starts from zero") {
  Kernel kernel;
  kernel.place(4, kOther);
  kernel.at(4).on_cpu_ns = 500;
  SignalSums sums(kernel.table());
  sums.read(1, kRoots, true);
  const RootIndex without = index_of({{1, RootIndex::kNobody}, {kPod, kPod}});
  sums.read(2, without, true);
  for (std::uint64_t tick = 3; tick < 100 && kernel.id_at(4) != 0; ++tick) sums.read(tick, without, false);
  REQUIRE(kernel.id_at(4) == 0);
  kernel.place(4, kPod);
  kernel.at(4).on_cpu_ns += 8;
  sums.read(200, without, false);
  REQUIRE(sums.root(kPod) != nullptr);
  CHECK(sums.root(kPod)->on_cpu_ns[0] == 8);
}

TEST_CASE("signal sums: a living cgroup keeps its slot however long it is quiet, and so does a running one") {
  Kernel kernel(1, 1);
  kernel.place(4, kOther);
  kernel.place(6, 31'337);
  kernel.cpus[0].in_at_ns = 1;
  kernel.cpus[0].slot = 6;
  SignalSums sums(kernel.table());
  for (std::uint64_t tick = 1; tick < 200; ++tick) sums.read(1, kRoots, tick == 1);
  CHECK(kernel.id_at(4) == kOther);
  CHECK(kernel.id_at(6) == 31'337);
}

TEST_CASE("signal sums: a value without a slot is reported and counts for the node") {
  Kernel kernel;
  kernel.at(kBuckets * WATTLE_BUCKET_WAYS).waits = 4;
  kernel.at(kBuckets * WATTLE_BUCKET_WAYS).on_cpu_ns = 44;
  SignalSums sums(kernel.table());
  sums.read(1, kRoots, true);
  CHECK(sums.overflows() == 4);
  CHECK(sums.node().on_cpu_ns[0] == 44);
}

TEST_CASE("signal sums: nothing is lost or invented between cgroups, roots and node") {
  CHECK(rc::check([] {
    Kernel kernel(2);
    for (std::size_t slot = 0; slot < 4; ++slot)
      kernel.place(slot, std::array{kPod, kContainer, kOther, kOther + 1}[slot]);
    const RootIndex roots =
        index_of({{kPod, kPod}, {kContainer, kPod}, {kOther, kOther}, {kOther + 1, RootIndex::kNobody}});
    SignalSums sums(kernel.table());
    std::uint64_t all = 0, of_pod = 0;
    for (std::uint64_t tick = 1; tick <= 5; ++tick) {
      for (std::size_t slot = 0; slot < 4; ++slot) {
        const auto ns = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
        const auto package = *rc::gen::inRange<std::size_t>(0, 2);
        kernel.at(slot, package).on_cpu_ns += ns;
        all += ns;
        if (slot < 2) of_pod += ns;
      }
      sums.read(tick, roots, tick == 1);
    }
    const auto total = [](const SignalTotals& totals) {
      return std::accumulate(totals.on_cpu_ns.begin(), totals.on_cpu_ns.end(), std::uint64_t{0});
    };
    RC_ASSERT(total(sums.node()) == all);
    RC_ASSERT((sums.root(kPod) == nullptr ? 0 : total(*sums.root(kPod))) == of_pod);
  }));
}

TEST_CASE("networks: prefixes of both families are parsed; bits beyond the prefix are dropped") {
  const auto ten = parse_network("10.1.2.3/8");
  REQUIRE(ten.has_value());
  CHECK_FALSE(ten->ipv6);
  CHECK(ten->bits == 8);
  CHECK(ten->address[0] == 10);
  CHECK(ten->address[1] == 0);
  const auto local = parse_network("fdff::1/7");
  REQUIRE(local.has_value());
  CHECK(local->ipv6);
  CHECK(local->address[0] == 0xfc);
  CHECK(local->address[15] == 0);
  CHECK(parse_network("192.0.2.7")->bits == 32);
}

TEST_CASE("networks: an invalid one is refused with its text") {
  for (const char* text :
       {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/-1", "a.b.c.d/8", "1.2.3.4/8/8"}) {
    CAPTURE(text);
    const auto network = parse_network(text);
    REQUIRE_FALSE(network.has_value());
    CHECK(network.error().subject == "'" + std::string(text) + "'");
  }
}

TEST_CASE("cpu topology: packages are numbered in the order of their ids; the package of an offline CPU is unknown") {
  const test::Tree tree;
  tree.put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "7\n");
  tree.put("sys/devices/system/cpu/cpu1/topology/physical_package_id", "3\n");
  tree.put("sys/devices/system/cpu/cpu2/online", "0\n");
  tree.put("sys/devices/system/cpu/cpufreq/boost", "1\n");
  const auto topology = CpuTopology::read_(Roots::below(tree.path()));
  CHECK(topology.package_ids == std::vector<std::uint64_t>{3, 7});
  CHECK(topology.package_of_cpu == std::vector<std::uint32_t>{1, 0, kUnknownPackage});
  CHECK(topology.package(1) == 0);
  CHECK(topology.package(2) == kUnknownPackage);
  CHECK(topology.package(500) == kUnknownPackage);  // not present
}

namespace {
// A machine with packages 0 and 2, whose CPUs come online.
struct Hotplug {
  std::map<std::size_t, std::uint64_t> ids{{0, 0}, {1, 2}};
  std::vector<wattle_cpu> cpus = std::vector<wattle_cpu>(8);
  int reads = 0;
  test::Tree tree;
  CpuTopology read() const {
    for (const auto& [cpu, id] : ids)
      tree.put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
               std::to_string(id) + "\n");
    return CpuTopology::read_(Roots::below(tree.path()));
  }
  CpuWatch watch{read(), [this] { return ++reads, read(); }};
  void run(std::size_t cpu, std::uint64_t switches, std::uint64_t cycles = 0) {
    cpus[cpu].switches += 2 * switches;
    cpus[cpu].cycles_at_in += cycles;
  }
};
}  // namespace

TEST_CASE("cpu watch: a CPU that comes online counts for its package from its first reading") {
  Hotplug machine;
  machine.cpus[1].package = 1;
  machine.run(0, 10);
  machine.run(1, 10);
  machine.watch.look(machine.cpus, false);
  CHECK(machine.reads == 0);
  machine.ids[5] = 2;
  machine.run(5, 1);
  machine.watch.look(machine.cpus, false);
  machine.watch.look(machine.cpus, false);
  CHECK(machine.reads == 1);
  CHECK(machine.cpus[5].package == 1);
  CHECK(machine.cpus[0].package == 0);
  CHECK(machine.watch.knows_packages());
  CHECK_FALSE(machine.watch.problem());
  machine.run(6, 1);  // it has no id
  machine.watch.look(machine.cpus, false);
  CHECK(machine.cpus[6].package == 0);
  CHECK(machine.watch.knows_packages());
}

TEST_CASE("cpu watch: a package without a CPU at the start ends the attribution by package, and is named") {
  Hotplug machine;
  machine.ids[4] = 1;
  machine.run(4, 1);
  machine.watch.look(machine.cpus, false);
  CHECK_FALSE(machine.watch.knows_packages());
  REQUIRE(machine.watch.problem());
  CHECK(machine.watch.problem()->subject == "CPU 4");
  CHECK(machine.watch.problem()->what.find("package 1") != std::string::npos);
}

TEST_CASE("cpu watch: a cycle counter that does not advance on a busy CPU ends the attribution by cycles") {
  Hotplug machine;
  machine.run(0, 1'000, 5'000);
  machine.watch.look(machine.cpus, true);
  machine.run(0, 1'000, 1);
  machine.watch.look(machine.cpus, true);
  machine.run(0, 10);  // too few to judge
  machine.watch.look(machine.cpus, true);
  CHECK(machine.watch.has_cycles());
  machine.run(0, 1'000);
  machine.watch.look(machine.cpus, false);
  CHECK(machine.watch.has_cycles());
  machine.run(0, 1'000);
  machine.watch.look(machine.cpus, true);
  CHECK_FALSE(machine.watch.has_cycles());
  CHECK(machine.watch.problem()->what.find("cycle counter") != std::string::npos);
  CHECK(machine.watch.knows_packages());
}

TEST_CASE("cpu topology: a machine that reports nothing is one package") {
  const test::Tree tree;
  tree.put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
  const auto topology = CpuTopology::read_(Roots::below(tree.path()));
  CHECK(topology.package_ids.size() == 1);
  CHECK(topology.package_of_cpu == std::vector<std::uint32_t>{0});
}
