#include "sim/world/world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "placement/decide/decide.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr double kWorldGiB = 1024.0 * 1024 * 1024;

ServerModel server(const std::string& name, double idle_w, double full_w) {
  ServerModel model;
  model.name = name;
  model.cores = 16;
  model.memory_bytes = 64 * kWorldGiB;
  for (std::size_t i = 0; i < kWattPoints; ++i)
    model.watts[i] = idle_w + (full_w - idle_w) * static_cast<double>(i) / static_cast<double>(kWattPoints - 1);
  model.sleep_w = 5;
  model.wake_time_s = 20;
  model.wake_energy_j = 3000;
  return model;
}

WorldOptions quiet(std::vector<ServerModel> servers) {
  WorldOptions options;
  options.power_noise_ratio = 0;
  options.latency_noise_ratio = 0;
  for (auto& each : servers) options.nodes.push_back({std::move(each), 10, 0.6, 1});
  return options;
}

SimPod pod(const std::string& uid, double request_cores, double demand, double life_s = 0) {
  SimPod made;
  made.spec.uid = uid;
  made.spec.app = "app";
  made.spec.request = {request_cores, kWorldGiB};
  made.mean_demand_cores = demand;
  made.memory_used_bytes = kWorldGiB;
  made.life_s = life_s > 0 ? life_s : std::numeric_limits<double>::infinity();
  return made;
}

// Everything in a view, as text.
std::string text(const placement::ClusterView& view) {
  std::ostringstream out;
  out << to_ns(view.now) << ' ' << view.pending_pods;
  for (const auto& node : view.nodes) {
    out << '\n' << node.name << ' ' << node.ready << node.asleep << ' ' << node.wake_cost_j;
    out << ' ' << (node.telemetry_age ? node.telemetry_age->count() : -1);
    out << ' ' << node.allocatable.cpu_cores << ' ' << node.requested.cpu_cores << ' ' << node.requested.memory_bytes;
    out << ' ' << node.pods << ' ' << node.same_app_pods << ' ' << node.unsettled << ' ' << node.unsettled_cpu_cores;
    out << ' ' << node.power_w.value_or(-1) << ' ' << node.values.cpu_used_cores.value_or(-1);
    out << ' ' << node.values.memory_used_bytes.value_or(0) << ' ' << node.values.pressure.cpu_some_ratio.value_or(-1);
    for (const auto& [target, ms] : node.latency_ms) out << ' ' << target << '=' << ms;
    for (const double watts : node.curve.points()) out << ' ' << watts;
  }
  return out.str();
}

}  // namespace

TEST_CASE("demand above the cores becomes pressure") {
  World world(quiet({server("a", 100, 260)}));
  for (int i = 0; i < 5; ++i)
    REQUIRE(world.place(pod("p" + std::to_string(i), 2, 4), 0, static_cast<std::uint64_t>(i), {}));
  world.advance_to(10);
  CHECK(world.figures().pressure_pod_s == doctest::Approx(50));  // 20 of 16 cores wanted: waiting all the time
}

TEST_CASE("a view shows which node sleeps and its wake cost, and pods on a waking node are counted") {
  WorldOptions options = quiet({server("a", 100, 260)});
  options.idle_nodes_sleep = true;
  options.sleep_after_s = 60;
  World world(options);
  world.advance_to(100);
  CHECK(world.view({}).nodes[0].asleep);
  CHECK(world.view({}).nodes[0].wake_cost_j == 3000);
  REQUIRE(world.place(pod("p", 2, 4, 50), 0, 1, {}));  // 20 s of waking
  CHECK_FALSE(world.view({}).nodes[0].asleep);
  world.advance_to(300);
  CHECK(world.figures().waking_pod_s == doctest::Approx(20));
  CHECK(world.figures().active_node_s == doctest::Approx(50));
  CHECK(world.view({}).nodes[0].asleep);
}

TEST_CASE("a view has only reported values: no true curves, no real demand, no future") {
  WorldOptions one = quiet({server("a", 100, 260), server("b", 50, 90)});
  WorldOptions other = quiet({server("a", 30, 900), server("b", 400, 401)});
  other.nodes[0].crowded_ratio = 0.1;
  other.nodes[1].latency_slope = 7;
  other.nodes[0].latency_ms = 99;
  other.trouble.shifts.push_back({1000, 0, 500});
  World a(one), b(other);
  a.advance_to(4);
  b.advance_to(4);
  REQUIRE(a.place(pod("p", 2, 0.1, 30), 1, 1, {}));
  REQUIRE(b.place(pod("p", 2, 9.0, 5000), 1, 1, {}));
  a.advance_to(5.25);  // sampled at 5, not yet delivered
  b.advance_to(5.25);
  CHECK(text(a.view({})) == text(b.view({})));
  a.advance_to(5.5);
  b.advance_to(5.5);
  CHECK(text(a.view({})) != text(b.view({})));
}

TEST_CASE("telemetry is late: a latency shift is visible in the next sample, and not earlier") {
  WorldOptions options = quiet({server("a", 100, 260)});
  options.trouble.shifts.push_back({20, 0, 40});
  World world(options);
  const auto seen_ms = [&] { return world.view({}).nodes[0].latency_ms.at("default"); };
  CHECK_FALSE(world.view({}).nodes[0].telemetry_age.has_value());
  world.advance_to(24.9);
  CHECK(seen_ms() == doctest::Approx(10));
  world.advance_to(25.6);
  CHECK(seen_ms() == doctest::Approx(40));
  CHECK(seconds(*world.view({}).nodes[0].telemetry_age) == doctest::Approx(0.6));
}

TEST_CASE("a pod counts as unsettled until a whole interval with it was reported") {
  World world(quiet({server("a", 100, 260)}));
  world.advance_to(7);
  REQUIRE(world.place(pod("p", 2, 4), 0, 1, {}));
  world.advance_to(11);
  CHECK(world.view({}).nodes[0].unsettled == 1);
  CHECK(world.view({}).nodes[0].unsettled_cpu_cores == doctest::Approx(2 * placement::kDemandOfRequest));
  world.advance_to(16);
  CHECK(world.view({}).nodes[0].unsettled == 0);
  CHECK(world.view({}).nodes[0].values.cpu_used_cores.value() == doctest::Approx(4));
}

TEST_CASE("an outcome's marginal watts are the pod's addition, although neighbours change") {
  World world(quiet({server("a", 100, 260)}));
  world.advance_to(600);  // the curve has learned the idle power
  REQUIRE(world.place(pod("p", 2, 4), 0, 7, {}));
  world.advance_to(620);
  CHECK(world.take_settled().empty());
  world.advance_to(621);
  const auto settled = world.take_settled();
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].decision_id == 7);
  CHECK(settled[0].outcome.mean_power_w.value() == doctest::Approx(140));
  CHECK(settled[0].outcome.marginal_w.value() == doctest::Approx(40).epsilon(0.1));
  CHECK(settled[0].outcome.latency_ms.value() == doctest::Approx(10));
  CHECK(settled[0].outcome.cpu_some_ratio.value() == 0);
}

TEST_CASE("a window shorter than telemetry ends as soon as an interval with the pod was reported") {
  for (const double placed_s : {600.0, 601.0, 604.9}) {
    WorldOptions options = quiet({server("a", 100, 260)});
    options.settle_s = 5;
    World world(options);
    world.advance_to(placed_s);
    REQUIRE(world.place(pod("p", 2, 4), 0, 7, {}));
    const double reported_s = placed_s == 600 ? 605.5 : 610.5;
    world.advance_to(reported_s - 0.1);
    CHECK(world.take_settled().empty());
    world.advance_to(reported_s + 0.1);
    const auto settled = world.take_settled();
    REQUIRE(settled.size() == 1);
    CHECK(settled[0].outcome.mean_power_w.value() == doctest::Approx(140));
  }
}

TEST_CASE("a pod that wakes a node is charged its idle watts, and one that ends early has no outcome") {
  WorldOptions options = quiet({server("a", 100, 260)});
  options.idle_nodes_sleep = true;
  World world(options);
  world.advance_to(100);
  REQUIRE(world.place(pod("p", 2, 4), 0, 1, {}));
  world.advance_to(119);
  REQUIRE(world.place(pod("q", 2, 4, 5), 0, 2, {}));
  world.advance_to(200);
  const auto settled = world.take_settled();
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].decision_id == 1);
  CHECK(settled[0].outcome.marginal_w.value() == doctest::Approx(140 - 5).epsilon(0.03));
}

TEST_CASE("an impossible placement or removal is refused by name") {
  World world(quiet({server("a", 100, 260)}));
  CHECK(world.place(pod("p", 2, 4), 1, 1, {}).error().code == Errc::not_found);
  CHECK(world.place(pod("p", 17, 4), 0, 1, {}).error().code == Errc::exhausted);
  REQUIRE(world.place(pod("p", 2, 4), 0, 1, {}));
  CHECK(world.place(pod("p", 2, 4), 0, 2, {}).error().subject == "p");
  CHECK(world.remove("q").error().code == Errc::not_found);
  CHECK(world.running() == std::vector<std::string>{"p"});
}

TEST_CASE("energy is the integral of the curves for random pods, failing machines and changing curves") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    WorldOptions options = quiet({server("a", 100, 260), server("b", 50, 90), server("c", 20, 400)});
    for (NodeSpec& node : options.nodes) node.server.watts[4] += 30;  // not a straight line
    options.nodes[2].blocked_cores = 3;
    CurveChange change{100, 1, options.nodes[0].server.watts};
    options.trouble.curve_changes.push_back(change);
    options.trouble.outages.push_back({50, 130, 0});
    World world(options);
    // Everything happens at multiples of the step, so that watts are constant within one.
    constexpr double kStep_s = 0.5;
    double expected_j = 0;
    std::uint64_t made = 0;
    for (double now_s = 0; now_s < 240; now_s += kStep_s) {
      if (uniform(random) < 0.1) {
        ++made;
        const SimPod next = pod("p" + std::to_string(made), 0.5, uniform(random, 0, 9));
        static_cast<void>(world.place(next, pick(random, 3), made, {}));  // refused if it does not fit
      }
      const auto running = world.running();
      if (!running.empty() && uniform(random) < 0.08) REQUIRE(world.remove(running[pick(random, running.size())]));
      for (std::size_t n = 0; n < 3; ++n) {
        if (!world.powered(n)) continue;
        const ServerModel& model = world.truth(n).server;
        expected_j += kStep_s * model.watts_at(std::min(world.wanted_cores(n), model.cores) / model.cores);
      }
      world.advance_to(now_s + kStep_s);
    }
    CHECK(world.figures().energy_j == doctest::Approx(expected_j).epsilon(1e-9));
  }
}
