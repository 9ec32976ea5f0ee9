// The laws of each scenario: the number of pods, and the time and target of each event.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "sim/env/evaluate.hpp"
#include "sim/scenarios/apps.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

EnvOptions named(std::string_view name) {
  EnvOptions options;
  options.scenario = find_scenario(name).value();
  return options;
}

// Plays kube-scheduler's default; `look` sees the environment before each binding.
template <class Look>
void play(Env& env, std::uint64_t seed, Look&& look) {
  Random ties(seed);
  env.begin(seed);
  while (!env.done()) {
    look(env);
    const auto view = env.view();
    const auto target = bind_target(env, {}, ties);
    if (target)
      REQUIRE(env.bind(*target, view));
    else
      env.turn_away();
  }
}

}  // namespace

TEST_CASE("thesis_test1: thirty pods arrive, then all end at once, four times") {
  Env env(named("thesis_test1"));
  std::vector<std::size_t> running;
  play(env, 1, [&](Env& each) {
    running.push_back(each.world().running().size());
    const auto& pod = each.waiting().spec;
    CHECK(pod.request.cpu_cores == 0.25);
    CHECK(pod.request.memory_bytes == 64.0 * 1024 * 1024);
    CHECK(pod.latency_soft_ms == 20);
    CHECK(pod.latency_hard_ms == 30);
  });
  REQUIRE(running.size() == 120);
  for (std::size_t i = 0; i < running.size(); ++i) CHECK(running[i] == i % 30);
}

TEST_CASE("thesis_test2 and latency_shift: each new pod ends the oldest, so thirty and twenty remain") {
  for (const std::size_t most : {std::size_t{30}, std::size_t{20}}) {
    const char* name = most == 30 ? "thesis_test2" : "latency_shift";
    CAPTURE(name);
    Env env(named(name));
    std::size_t i = 0;
    std::string oldest;
    play(env, 2, [&](Env& each) {
      const auto running = each.world().running();
      CHECK(running.size() == std::min(i, most - 1));
      if (i >= most) CHECK(running.front() != oldest);
      ++i;
      if (!running.empty()) oldest = running.front();
    });
    CHECK(i == 120);
    CHECK(env.world().running().size() == most);
  }
}

TEST_CASE("latency_shift: after a third and two thirds of the run the nearest and the farthest node are swapped") {
  const Scenario scenario = find_scenario("latency_shift").value();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const WorldOptions options = make_world(scenario, {}, seed);
    const auto& shifts = options.trouble.shifts;
    REQUIRE(shifts.size() == 4);
    CHECK(shifts[0].at_s == doctest::Approx(400));
    CHECK(shifts[2].at_s == doctest::Approx(800));
    World world(options);
    const auto nearest = [&] {
      std::size_t best = 0;
      for (std::size_t n = 1; n < world.size(); ++n)
        if (world.truth(n).latency_ms < world.truth(best).latency_ms) best = n;
      return best;
    };
    const std::size_t before = nearest();
    CHECK(before == shifts[0].node);
    world.advance_to(401);
    CHECK(world.truth(before).latency_ms == doctest::Approx(25));
    CHECK(nearest() == shifts[1].node);
    world.advance_to(801);
    CHECK(nearest() == before);
  }
}

TEST_CASE("drs: a hundred pods of three kinds in turn stay, and telemetry has network and disks within their bounds") {
  Env env(named("drs"));
  std::map<std::string, int> kinds;
  double most_rx = 0, most_write = 0;
  play(env, 3, [&](Env& each) {
    ++kinds[each.waiting().spec.app];
    for (const auto& node : each.view().nodes) {
      if (!node.telemetry_age) continue;
      most_rx = std::max(most_rx, node.values.net_rx_bytes_per_s.value());
      most_write = std::max(most_write, node.values.disk_write_bytes_per_s.value());
      CHECK(node.values.net_tx_bytes_per_s.value() <= node.link_bytes_per_s);
      CHECK(node.values.disk_write_bytes_per_s.value() <= node.disk_bytes_per_s);
    }
  });
  CHECK(kinds == std::map<std::string, int>{{"cpu", 34}, {"disk", 33}, {"net", 33}});
  CHECK(env.world().running().size() == 100);
  CHECK(most_rx > 1e6);
  CHECK(most_write > 1e7);
  std::set<double> sizes;
  for (std::size_t n = 0; n < env.world().size(); ++n) sizes.insert(env.world().truth(n).server.cores);
  CHECK(sizes.size() == 1);
}

TEST_CASE("closed_loop: fifty users have at most fifty requests in flight, and wait longer on crowded nodes") {
  Env env(named("closed_loop"));
  play(env, 1, [](Env&) {});
  const WorldFigures figures = env.world().figures();
  REQUIRE(figures.requests > 0);
  const UserOptions users = make_world(env.options().scenario, {}, 1).users;
  const double lifetime_s = env.world().now_s();
  // Little's law: requests x (think + response) = users x time, from the first pod on.
  const double loop_s = figures.requests * users.think_s + figures.response_s;
  CHECK(loop_s <= 50 * lifetime_s * 1.001);
  CHECK(loop_s >= 50 * (lifetime_s - 30) * 0.98);
  CHECK(figures.response_s / figures.requests >= users.work_core_s);
  CHECK(figures.response_ms.quantile(0.95) >= 1000 * figures.response_s / figures.requests * 0.9);
}

TEST_CASE("memory_only: pods request only memory, around two gibibytes, and have short lifetimes") {
  Env env(named("memory_only"));
  double sum = 0, squares = 0, n = 0;
  std::set<std::string> known;  // a pod that fits nowhere returns
  play(env, 5, [&](Env& each) {
    const auto& pod = each.waiting();
    if (!known.insert(pod.spec.uid).second) return;
    CHECK(pod.spec.request.cpu_cores == 0);
    CHECK(std::isfinite(pod.life_s));
    const double gib = pod.spec.request.memory_bytes / (1 << 30);
    sum += gib;
    squares += gib * gib;
    ++n;
  });
  CHECK(n == 300);
  CHECK(sum / n == doctest::Approx(2).epsilon(0.06));
  CHECK(std::sqrt(squares / n - sum / n * sum / n) / 2 == doctest::Approx(0.35).epsilon(0.15));
}

TEST_CASE("provisioning: rates are between 1,000 and 5,000 and reach both, twice, and every request is counted") {
  Env env(named("provisioning"));
  std::map<std::string, std::size_t> services;
  play(env, 3, [&](Env& each) { ++services[each.waiting().spec.app]; });
  const std::vector<double>& rates = env.world_options().requests.per_s;
  CHECK(services.size() == 8);
  CHECK(rates[0] == 0);
  double peaks[2] = {0, 0}, least = 1e9, asked = 0;
  for (std::size_t slot = 1; slot < rates.size(); ++slot) {
    CHECK(rates[slot] >= kLeastRequests_per_s);
    CHECK(rates[slot] <= kMostRequests_per_s);
    least = std::min(least, rates[slot]);
    double& peak = peaks[slot > rates.size() / 2 ? 1 : 0];
    peak = std::max(peak, rates[slot]);
  }
  CHECK(least < 1.1 * kLeastRequests_per_s);
  CHECK(std::min(peaks[0], peaks[1]) > 0.95 * kMostRequests_per_s);
  const double end_s = env.world().now_s();
  for (double from_s = 0; from_s < end_s; from_s += kDemandSlot_s)
    asked += env.world_options().requests.rate(static_cast<std::size_t>(from_s / kDemandSlot_s)) *
             std::min(kDemandSlot_s, end_s - from_s);
  const WorldFigures figures = env.world().figures();
  CHECK(figures.requests + figures.failed_requests == doctest::Approx(asked).epsilon(1e-6));
  CHECK(figures.failed_requests > 0);
  CHECK(1000 * figures.response_s / figures.requests > kServiceLatency_ms);
  for (std::size_t n = 0; n < env.world().size(); ++n) {
    CHECK(env.world().truth(n).server.cores == 12);
    CHECK(env.world_options().nodes[n].latency_ms == kServiceLatency_ms);
  }
}

TEST_CASE("provisioning: replicas follow the previous slot's rate within a tenth, and fall after five minutes") {
  const Scenario scenario = find_scenario("provisioning").value();
  const auto services = service_profiles(scenario, 5);
  double shares = 0, most_cores = 0;
  for (const AppProfile& each : services) {
    shares += each.request_share;
    most_cores += kMostRequests_per_s * each.request_share * each.work_core_s;
  }
  CHECK(shares == doctest::Approx(1));
  CHECK(most_cores == doctest::Approx(0.7 * 8 * 12));
  std::vector<double> steps(10, 1000.0);
  steps.insert(steps.end(), 5, 5000.0);
  steps.insert(steps.end(), 30, 1000.0);
  const auto replicas = scale(services, steps);
  const auto running = [&](double at_s) {
    std::size_t n = 0;
    for (const Replica& each : replicas) n += each.at_s <= at_s && at_s < each.at_s + each.life_s;
    return n;
  };
  const auto wanted = [&](double per_s) {
    double n = 0;
    for (const AppProfile& each : services)
      n += std::ceil(per_s * each.request_share * each.work_core_s / kReplicaTarget_cores);
    return n;
  };
  CHECK(running(299) == wanted(1000));
  CHECK(running(329) == wanted(1000));  // the rate rose at 300 s, which is answered a slot later
  CHECK(running(359) == wanted(5000));
  CHECK(running(450 + 9 * kDemandSlot_s - 1) == wanted(5000));
  CHECK(running(450 + 11 * kDemandSlot_s) == wanted(1000));
  for (std::size_t i = 1; i < replicas.size(); ++i) CHECK(replicas[i].at_s >= replicas[i - 1].at_s);
}

TEST_CASE("machines_fail: a failed machine draws nothing, is detected after 40 s, and its pods are recreated") {
  Env env(named("machines_fail"));
  const WorldOptions options = make_world(env.options().scenario, {}, 7);
  REQUIRE(options.trouble.outages.size() == 3);
  REQUIRE(options.trouble.silences.size() == 1);
  std::size_t not_ready = 0, reported_late = 0, decisions = 0;
  play(env, 7, [&](Env& each) {
    ++decisions;
    const double now_s = each.world().now_s();
    const auto view = each.view();
    for (const Outage& outage : options.trouble.outages) {
      const bool gone = now_s > outage.from_s && now_s < outage.to_s;
      CHECK(each.world().powered(outage.node) == !gone);
      const bool noticed = now_s > outage.from_s + options.notice_s && now_s < outage.to_s;
      if (noticed) {
        ++not_ready;
        CHECK_FALSE(view.nodes[outage.node].ready);
        CHECK(view.nodes[outage.node].pods == 0);
      }
      if (gone && now_s > outage.from_s + 6) CHECK(seconds(*view.nodes[outage.node].telemetry_age) > 5);
    }
    for (const Silence& silence : options.trouble.silences)
      if (now_s > silence.from_s + 15 && now_s < silence.to_s) {
        ++reported_late;
        CHECK(view.nodes[silence.node].ready);
        CHECK(seconds(*view.nodes[silence.node].telemetry_age) > 10);
      }
  });
  const WorldFigures figures = env.world().figures();
  CHECK(not_ready > 0);
  CHECK(reported_late > 0);
  CHECK(figures.lost_pods > 0);
  CHECK(decisions == 500 + figures.lost_pods);
  CHECK(figures.stranded_pod_s > 0);
}

TEST_CASE("curve_change: in mid-run efficient servers become wasteful and vice versa, without a report") {
  const Scenario scenario = find_scenario("curve_change").value();
  const WorldOptions options = make_world(scenario, {}, 3);
  REQUIRE(options.trouble.curve_changes.size() == 4);
  World world(options);
  const double at_s = options.trouble.curve_changes[0].at_s;
  const auto idle_w = [&](std::size_t n) { return world.truth(n).server.watts_at(0); };
  const std::size_t thrifty = options.trouble.curve_changes[0].node, wasteful = options.trouble.curve_changes[3].node;
  const double before_w = idle_w(thrifty), wasteful_w = idle_w(wasteful);
  world.advance_to(at_s + 4.9);
  CHECK(idle_w(thrifty) == doctest::Approx(kWasteful * before_w));
  CHECK(idle_w(wasteful) == doctest::Approx(kThrifty * wasteful_w));
  // The known curve was fitted from readings.
  const double fitted_w = world.view({}).nodes[thrifty].curve.watts(0);
  world.advance_to(at_s + 1200);
  CHECK(world.view({}).nodes[thrifty].curve.watts(0) > 1.3 * fitted_w);
}

TEST_CASE("liars: a tenth of the nodes lie after a quarter of the run, each kind once; the others report the truth") {
  const Scenario scenario = find_scenario("liars").value();
  WorldOptions options = make_world(scenario, {}, 2);
  options.power_noise_ratio = 0;
  REQUIRE(options.trouble.lies.size() == 3);
  WorldOptions honest = options;
  honest.trouble.lies.clear();
  World world(options), truth(honest);
  SimPod pod;
  pod.spec.request = {1, 1e9};
  pod.mean_demand_cores = 3;
  pod.life_s = INFINITY;
  const double from_s = options.trouble.lies[0].from_s;
  const auto fill = [&](World& each) {
    each.advance_to(from_s + 12);  // the frozen node's value has been reported before
    for (std::size_t n = 0; n < each.size(); ++n) {
      pod.spec.uid = "p" + std::to_string(n);
      REQUIRE(each.place(pod, n, n + 1, {}));
    }
    each.advance_to(from_s + 60);
  };
  fill(world);
  fill(truth);
  const auto reported = world.view({}), real = truth.view({});
  std::map<std::size_t, TelemetryFault> liars;
  for (const TelemetryFault& each : options.trouble.lies) liars[each.node] = each;
  for (std::size_t n = 0; n < reported.nodes.size(); ++n) {
    const double said = *reported.nodes[n].values.cpu_used_cores, used = *real.nodes[n].values.cpu_used_cores;
    if (!liars.contains(n)) {
      CHECK(said == used);
      CHECK(*reported.nodes[n].power_w == *real.nodes[n].power_w);
    } else if (liars[n].kind == LieKind::frozen) {
      CHECK(said == 0);
    } else if (liars[n].kind == LieKind::scaled) {
      CHECK(said == doctest::Approx(0.4 * used));
    } else {
      CHECK(*reported.nodes[n].power_w == *real.nodes[liars[n].other].power_w);
    }
  }
  CHECK(world.figures().energy_j == doctest::Approx(truth.figures().energy_j));
}

TEST_CASE("burst: a thousand pods arrive between two samples, the same ones as in burst_spread") {
  const auto arrivals = [](const char* name) {
    const Scenario scenario = find_scenario(name).value();
    Arrivals made(scenario, make_world(scenario, {}, 4), 4, 4);
    std::vector<Arrivals::Arrival> all;
    while (auto next = made.next()) all.push_back(*next);
    return all;
  };
  const auto burst = arrivals("burst"), spread = arrivals("burst_spread");
  REQUIRE(burst.size() == 1200);
  REQUIRE(spread.size() == 1200);
  const double period_s = WorldOptions{}.telemetry_period_s;
  CHECK(burst[1199].at_s - burst[200].at_s < period_s);
  CHECK(std::floor(burst[200].at_s / period_s) == std::floor(burst[1199].at_s / period_s));
  CHECK(spread[1199].at_s - spread[200].at_s > 1000 * period_s);
  for (std::size_t i = 0; i < burst.size(); ++i) {
    REQUIRE(burst[i].pod.spec.uid == spread[i].pod.spec.uid);
    REQUIRE(burst[i].pod.mean_demand_cores == spread[i].pod.mean_demand_cores);
  }
}

TEST_CASE("troubles follow from the seed alone") {
  for (const Scenario& scenario : kScenarios) {
    CAPTURE(scenario.name);
    const auto text = [&](std::uint64_t seed) {
      const FaultPlan troubles = make_world(scenario, {}, seed).trouble;
      std::string all;
      for (const auto& each : troubles.shifts) all += std::to_string(each.at_s) + "," + std::to_string(each.node) + ";";
      for (const auto& each : troubles.outages)
        all += std::to_string(each.from_s) + "," + std::to_string(each.node) + ";";
      for (const auto& each : troubles.silences)
        all += std::to_string(each.from_s) + "," + std::to_string(each.node) + ";";
      for (const auto& each : troubles.lies) all += std::to_string(each.node) + "," + std::to_string(each.other) + ";";
      for (const auto& each : troubles.curve_changes) all += std::to_string(each.node) + ";";
      return all;
    };
    CHECK(text(11) == text(11));
  }
}
