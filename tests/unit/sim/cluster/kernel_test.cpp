#include "sim/cluster/kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/world/random.hpp"

using namespace wattle;
using namespace wattle::sim;
using namespace wattle::sim::cluster;

namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();

// A linear power curve.
Machine machine_with(double cores, double idle_w, double full_w) {
  Machine machine;
  machine.cores = cores;
  for (std::size_t i = 0; i < kWattPoints; ++i)
    machine.watts[i] = idle_w + (full_w - idle_w) * static_cast<double>(i) / static_cast<double>(kWattPoints - 1);
  machine.sleep_w = 5;
  machine.wake_time_s = 20;
  machine.wake_energy_j = 3000;
  return machine;
}

template <class Time>
Time at_s(double s) {
  if constexpr (std::is_same_v<Time, double>)
    return s;
  else
    return MonoTime(from_seconds(s));
}

// Sums the power of machines only from the events that it receives.
template <class Time>
struct Follower final : Observer {
  const Kernel<Time>* kernel = nullptr;
  double energy_j = 0, pod_s = 0, used_core_s = 0;
  std::vector<PodId> gone;
  std::vector<std::size_t> woken;
  void ran(std::size_t node, double dt_s) override {
    const auto& each = kernel->node(node);
    energy_j += each.power_w * dt_s;
    used_core_s += each.used_cores * dt_s;
    pod_s += dt_s * static_cast<double>(each.pods.size());
  }
  void ended(PodId pod, std::size_t, std::size_t) override { gone.push_back(pod); }
  void woke(std::size_t node) override { woken.push_back(node); }
};

}  // namespace

TEST_CASE_TEMPLATE("kernel: an empty machine sleeps in time, wakes for a pod at its cost, and runs it afterwards", Time,
                   double, MonoTime) {
  for (const bool from_start : {false, true}) {
    CAPTURE(from_start);
    Follower<Time> follower;
    Kernel<Time> kernel({machine_with(16, 100, 260)}, {true, 60, from_start});
    follower.kernel = &kernel;
    kernel.advance_to(at_s<Time>(100), follower);
    CHECK(kernel.node(0).power == Power::asleep);
    kernel.place(7, 0, 4, 50, follower);
    CHECK(kernel.node(0).power == Power::waking);
    CHECK(kernel.node(0).used_cores == 0);
    CHECK(kernel.running_w(0) == doctest::Approx(140));
    kernel.advance_to(at_s<Time>(300), follower);
    CHECK(kernel.node(0).power == Power::asleep);
    kernel.settle(follower);
    const double before_j = from_start ? 100 * 5 : 60 * 100 + 40 * 5;
    CHECK(kernel.energy_j() == doctest::Approx(before_j + 3000 + 30 * 140 + 60 * 100 + 90 * 5));
    CHECK(kernel.awake_node_s() == doctest::Approx((from_start ? 0 : 60) + 50 + 60));
    CHECK(kernel.wakes() == 1);
    CHECK(follower.gone == std::vector<PodId>{7});
    CHECK(follower.woken == std::vector<std::size_t>{0});
  }
}

TEST_CASE("kernel: a pod that arrives in time keeps its machine awake, and one that wakes for no pod sleeps again") {
  Observer none;
  Kernel<double> kernel({machine_with(16, 100, 260)}, {true, 60, false});
  kernel.advance_to(59, none);
  kernel.place(0, 0, 1, 10, none);
  CHECK(kernel.wakes() == 0);
  kernel.advance_to(128, none);
  CHECK(kernel.node(0).power == Power::awake);
  kernel.advance_to(129, none);
  CHECK(kernel.node(0).power == Power::asleep);
  kernel.place(1, 0, 1, 5, none);  // removed before the machine is awake
  kernel.advance_to(148, none);
  CHECK(kernel.node(0).power == Power::waking);
  CHECK(kernel.node(0).pods.empty());
  kernel.advance_to(149 + 59, none);
  CHECK(kernel.node(0).power == Power::awake);
  kernel.advance_to(149 + 60, none);
  CHECK(kernel.node(0).power == Power::asleep);
}

TEST_CASE("kernel: usage is limited to the cores, excess demand becomes pressure, and crowding costs more") {
  Observer none;
  Machine machine = machine_with(16, 100, 260);
  machine.crowded_ratio = 0.6;
  machine.blocked_cores = 2;
  Kernel<double> kernel({machine}, {});
  CHECK(kernel.node(0).power_w == doctest::Approx(120));
  for (PodId pod = 0; pod < 5; ++pod) kernel.place(pod, 0, 4, kForEver, none);
  CHECK(kernel.node(0).wanted_cores == doctest::Approx(22));
  CHECK(kernel.node(0).used_cores == doctest::Approx(16));
  CHECK(kernel.node(0).pressure_ratio == doctest::Approx(1));
  kernel.want(
      0, [](PodId pod) { return pod == 0 ? 7.6 : 0.0; }, none);  // crowding starts at 9.6 of 16
  CHECK(kernel.node(0).pressure_ratio == doctest::Approx(0));
  CHECK(kernel.node(0).power_w == doctest::Approx(196));

  Machine slow = machine;
  slow.waiting_times = 2;
  Kernel<double> waits({slow}, {});
  for (const auto& [wanted_cores, share] : {std::pair{7.6, 0.0}, {10.2, 0.5}, {15.4, 1.0}}) {
    waits.place(0, 0, wanted_cores, kForEver, none);
    CHECK(waits.node(0).pressure_ratio ==
          doctest::Approx(share));  // from the same load on, twice as long, at most all the time
    CHECK(waits.node(0).used_cores == doctest::Approx(std::min(16.0, 2 + wanted_cores)));
    waits.remove(0, none);
  }
}

TEST_CASE("kernel: a failed machine draws nothing, and keeps its pods until they are removed or it returns") {
  Observer none;
  Kernel<double> kernel({machine_with(16, 100, 260)}, {true, 60, false});
  kernel.place(0, 0, 4, kForEver, none);
  kernel.advance_to(10, none);
  kernel.fail(0, none);
  kernel.advance_to(30, none);
  kernel.repair(0, none);
  kernel.advance_to(40, none);
  kernel.fail(0, none);
  kernel.remove(0, none);
  kernel.advance_to(200, none);
  CHECK(kernel.node(0).power == Power::gone);
  kernel.repair(0, none);
  kernel.advance_to(300, none);
  CHECK(kernel.node(0).power == Power::asleep);
  kernel.settle(none);
  CHECK(kernel.energy_j() == doctest::Approx(10 * 140 + 10 * 140 + 60 * 100 + 40 * 5));
}

TEST_CASE("kernel: placing then removing leaves the machine unchanged, and pods keep their order") {
  Observer none;
  Kernel<double> kernel({machine_with(16, 100, 260), machine_with(8, 50, 90)}, {});
  for (PodId pod = 0; pod < 4; ++pod) kernel.place(pod, 0, 0.3 + static_cast<double>(pod), kForEver, none);
  const double before_w = kernel.node(0).power_w;
  kernel.place(9, 0, 3, kForEver, none);
  CHECK(kernel.node_of(9) == 0);
  CHECK(kernel.node_of(5) == kNowhere);
  kernel.remove(9, none);
  CHECK(kernel.node_of(9) == kNowhere);
  CHECK(kernel.node(0).power_w == before_w);
  kernel.remove(1, none);
  std::vector<PodId> left;
  for (const auto& pod : kernel.node(0).pods) left.push_back(pod.id);
  CHECK(left == std::vector<PodId>{0, 2, 3});
  kernel.settle(none);
  kernel.forget();
  kernel.advance_to(10, none);
  kernel.settle(none);
  CHECK(kernel.energy_j() == doctest::Approx(10 * (kernel.node(0).power_w + 50)));
}

TEST_CASE("kernel: for any events, energy matches the observers' sum, no pod is lost, and a copy is independent") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(mix(seed, 1));
    std::vector<Machine> machines;
    for (int i = 0; i < 5; ++i)
      machines.push_back(machine_with(8 + uniform(random, 0, 24), uniform(random, 20, 90), uniform(random, 100, 400)));
    Kernel<double> kernel(machines, {seed % 2 == 0, 60, seed % 4 == 0});
    Follower<double> follower;
    follower.kernel = &kernel;
    std::map<PodId, std::size_t> here;
    const auto step = [&](Kernel<double>& one, Follower<double>& seen, Random& chance, PodId& next) {
      one.advance_to(one.now() + exponential(chance, 30), seen);
      const std::size_t i = pick(chance, one.size());
      switch (pick(chance, 8)) {
        case 0:
          return one.fail(i, seen);
        case 1:
          if (one.node(i).power == Power::gone) one.repair(i, seen);
          return;
        case 2:
          return one.want(
              i, [&](PodId) { return uniform(chance, 0, 3); }, seen);
        case 3:
          if (!one.node(i).pods.empty()) one.remove(one.node(i).pods.front().id, seen);
          return;
        default:
          return one.place(next++, i, uniform(chance, 0, 3), pick(chance, 4) == 0 ? kForEver : uniform(chance, 1, 400),
                           seen);
      }
    };
    PodId next = 0;
    for (int k = 0; k < 200; ++k) step(kernel, follower, random, next);

    Kernel<double> copy = kernel;
    const double at_s = kernel.now();
    const std::vector<std::size_t> where = kernel.nodes_of();
    Follower<double> other;
    other.kernel = &copy;
    Random same = random;
    PodId same_next = next;
    for (int k = 0; k < 100; ++k) step(copy, other, same, same_next);
    CHECK(kernel.now() == at_s);
    CHECK(kernel.nodes_of() == where);
    const std::size_t gone_before = follower.gone.size();
    for (int k = 0; k < 100; ++k) step(kernel, follower, random, next);
    kernel.settle(follower);
    copy.settle(other);
    CHECK(kernel.energy_j() == copy.energy_j());  // the same calls, bit for bit
    CHECK(std::equal(other.gone.begin(), other.gone.end(),
                     follower.gone.begin() + static_cast<std::ptrdiff_t>(gone_before), follower.gone.end()));

    CHECK(kernel.energy_j() == doctest::Approx(follower.energy_j).epsilon(1e-9));
    CHECK(kernel.pod_s() == doctest::Approx(follower.pod_s).epsilon(1e-9));
    std::size_t running = 0;
    for (std::size_t i = 0; i < kernel.size(); ++i)
      for (const auto& pod : kernel.node(i).pods) {
        CHECK(kernel.node_of(pod.id) == i);
        ++running;
      }
    CHECK(running + follower.gone.size() == next);
  }
}
