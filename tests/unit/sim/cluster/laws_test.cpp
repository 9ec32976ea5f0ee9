// laws: properties of a simulated cluster under any events: on the kernel with either clock, in a World, and in an
// episode of consolidation.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "sim/cluster/kernel.hpp"
#include "sim/improve/replayed_cluster.hpp"
#include "sim/world/random.hpp"
#include "sim/world/world.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr double kStays = std::numeric_limits<double>::infinity();

// A pod that arrives at a given time on a given node.
struct ArrivingPod {
  double at_s = 0;
  std::size_t node = 0;
  double cores = 0, life_s = kStays;
};
struct Script {
  std::vector<ServerModel> servers;
  bool sleep = false;
  std::vector<ArrivingPod> pods;  // by time
  double from_s = 0, to_s = 0;
};
// Totals between from_s and to_s.
struct Drawn {
  double energy_j = 0, awake_node_s = 0, pod_s = 0;
  std::uint64_t wakes = 0;
};

template <class Time>
struct OnKernel {
  static Time at(double s) {
    if constexpr (std::is_same_v<Time, double>)
      return s;
    else
      return MonoTime(from_seconds(s));
  }
  static Drawn play(const Script& script) {
    std::vector<cluster::Machine> machines;
    for (const ServerModel& server : script.servers) machines.push_back(machine_of(server));
    cluster::Observer none;
    cluster::Kernel<Time> kernel(machines, {script.sleep, 60, false});
    const auto measure = [&] {
      kernel.settle(none);
      return Drawn{kernel.energy_j(), kernel.awake_node_s(), kernel.pod_s(), kernel.wakes()};
    };
    return between(
        script, measure, [&](double s) { kernel.advance_to(at(s), none); },
        [&](std::size_t p, const ArrivingPod& pod) { kernel.place(p, pod.node, pod.cores, pod.life_s, none); });
  }
  template <class Measure, class Advance, class Place>
  static Drawn between(const Script& script, Measure&& measure, Advance&& advance, Place&& place) {
    std::size_t p = 0;
    const auto until = [&](double s) {
      for (; p < script.pods.size() && script.pods[p].at_s < s; ++p) {
        advance(script.pods[p].at_s);
        place(p, script.pods[p]);
      }
      advance(s);
    };
    until(script.from_s);
    const Drawn before = measure();
    until(script.to_s);
    const Drawn after = measure();
    return {after.energy_j - before.energy_j, after.awake_node_s - before.awake_node_s, after.pod_s - before.pod_s,
            after.wakes - before.wakes};
  }
};

struct OnWorld {
  static Drawn play(const Script& script) {
    WorldOptions options;
    options.idle_nodes_sleep = script.sleep;
    options.sleep_after_s = 60;
    for (const ServerModel& server : script.servers) {
      NodeSpec node;
      node.server = server;
      options.nodes.push_back(node);
    }
    World world(options);
    const auto measure = [&] {
      const WorldFigures figures = world.figures();
      return Drawn{figures.energy_j, figures.awake_node_s, figures.pod_s, figures.wakes};
    };
    return OnKernel<double>::between(
        script, measure, [&](double s) { world.advance_to(s); },
        [&](std::size_t p, const ArrivingPod& coming) {
          SimPod pod;
          pod.spec.uid = "pod-" + std::to_string(p);
          pod.mean_demand_cores = coming.cores;
          pod.life_s = coming.life_s;
          REQUIRE(world.place(pod, coming.node, p, {}));
        });
  }
};

struct AsReported {
  static Drawn play(const Script& script) {
    consolidation::PodDay day;
    consolidation::Episode episode;
    episode.options.sleep = script.sleep;
    episode.options.churn = true;
    episode.servers = script.servers;
    episode.expected_cores = {1, 2};
    episode.expected_demand = {0.5};
    for (const ArrivingPod& pod : script.pods) {
      episode.pods.push_back({0, day.cores.size(), pod.at_s, pod.life_s});
      day.cores.emplace_back().fill(static_cast<float>(pod.cores));
      day.mean_cores.push_back(pod.cores);
    }
    episode.day = &day;
    consolidation::Cluster reported(episode);
    const auto measure = [&] {
      return Drawn{reported.energy_j(), reported.awake_node_s(), reported.pod_s(), reported.wakes()};
    };
    return OnKernel<double>::between(
        script, measure, [&](double s) { reported.advance_to(s); },
        [&](std::size_t p, const ArrivingPod& pod) { reported.place(p, pod.node); });
  }
};

ServerModel server_with(double idle_w, double full_w) {
  ServerModel server = consolidation::server_of(16, idle_w, full_w);
  server.name = "node-" + std::to_string(static_cast<int>(idle_w));
  return server;
}

}  // namespace

#define WATTLE_EACH_CLUSTER OnKernel<double>, OnKernel<MonoTime>, OnWorld, AsReported

TEST_CASE_TEMPLATE("cluster: energy is the exact integral of the curve over utilisation", Played, WATTLE_EACH_CLUSTER) {
  Script script;
  script.servers = {server_with(100, 260)};
  script.pods = {{7.25, 0, 4, 92.75}, {20.5, 0, 8, 10}};  // a quarter of 160 W more, then three quarters
  script.to_s = 130;
  const Drawn drawn = Played::play(script);
  CHECK(drawn.energy_j == doctest::Approx(7.25 * 100 + 13.25 * 140 + 10 * 220 + 69.5 * 140 + 30 * 100).epsilon(1e-9));
  CHECK(drawn.pod_s == doctest::Approx(92.75 + 10));
  CHECK(drawn.awake_node_s == doctest::Approx(130));
}

TEST_CASE_TEMPLATE("cluster: usage is limited to the cores", Played, WATTLE_EACH_CLUSTER) {
  Script script;
  script.servers = {server_with(100, 260)};
  for (int i = 0; i < 5; ++i) script.pods.push_back({0, 0, 4, kStays});
  script.to_s = 10;
  CHECK(Played::play(script).energy_j == doctest::Approx(2600));
}

TEST_CASE_TEMPLATE("cluster: an idle node sleeps, wakes for a pod at its cost, and sleeps again", Played,
                   WATTLE_EACH_CLUSTER) {
  Script script;
  script.servers = {server_with(100, 260), server_with(50, 150)};
  script.sleep = true;
  script.pods = {{200, 0, 4, 80}};
  script.from_s = 150;
  script.to_s = 500;
  const Drawn drawn = Played::play(script);
  // Asleep; 30 s of waking, 50 s of the pod, a minute idle, asleep. The other node stays asleep.
  CHECK(drawn.energy_j == doctest::Approx(50 * 2 + 3000 + 50 * 140 + 60 * 100 + 160 * 2 + 350 * 2).epsilon(1e-9));
  CHECK(drawn.awake_node_s == doctest::Approx(30 + 50 + 60));
  CHECK(drawn.pod_s == doctest::Approx(80));
  CHECK(drawn.wakes == 1);
}

TEST_CASE_TEMPLATE("cluster: pods that have ended leave the initial state", Played, WATTLE_EACH_CLUSTER) {
  Script script;
  script.servers = {server_with(100, 260), server_with(50, 150)};
  script.pods = {{5, 0, 3, kStays}, {6, 0, 5, 70}, {10, 1, 2, 80}, {11, 0, 1, 60}};
  script.from_s = 100;
  script.to_s = 110;
  CHECK(Played::play(script).energy_j == doctest::Approx(10 * (130 + 50)).epsilon(1e-9));
}

TEST_CASE("cluster: kernel, world and episode use the same energy for the same pods") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(mix(seed, 1));
    Script script;
    script.sleep = seed % 2 == 0;
    for (int i = 0; i < 4; ++i) {
      script.servers.push_back(server_with(uniform(random, 20, 90), uniform(random, 100, 400)));
      script.servers.back().watts[3] += 25;  // not a straight line
    }
    // Few enough to fit, and with machines asleep or awake alike when the measurement starts.
    for (double s = 200; s < 2000; s += exponential(random, 40)) {
      const double cores = static_cast<double>(static_cast<float>(uniform(random, 0, 3)));
      script.pods.push_back({s, pick(random, 4), cores, uniform(random, 60, 500)});
    }
    script.from_s = 150;
    script.to_s = 2600;
    const Drawn drawn = OnKernel<double>::play(script);
    for (const Drawn& other : {OnKernel<MonoTime>::play(script), OnWorld::play(script), AsReported::play(script)}) {
      CHECK(other.energy_j == doctest::Approx(drawn.energy_j).epsilon(1e-9));
      CHECK(other.awake_node_s == doctest::Approx(drawn.awake_node_s).epsilon(1e-9));
      CHECK(other.pod_s == doctest::Approx(drawn.pod_s).epsilon(1e-9));
      CHECK(other.wakes == drawn.wakes);
    }
  }
}
