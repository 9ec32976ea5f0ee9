// The driver against an extender and a swarm that are HTTP servers of the test, on a manual clock.
#include "sim/live/drive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "common/http/server.hpp"
#include "common/json/value.hpp"
#include "sim/live/drive_report.hpp"
#include "sim/live/swarm_api.hpp"

using namespace wattle;
using namespace wattle::sim;
using namespace wattle::sim::live;
using json = wattle::SortedJson;

namespace {

// The driver's environment: a fleet behind the swarm's API, and a shim that favours one node.
struct World {
  ManualClock clock{mono_from_ns(1'000'000'000)};
  Log log = Log::silent();
  std::mutex mutex;
  Fleet fleet{synthetic_fleet(4, 3), sleepers(), mono_from_ns(1'000'000'000)};
  std::set<std::string> asleep;  // as the controller reports them
  std::atomic<std::uint64_t> epoch{1};
  std::string favourite = "sim-02";
  std::string prioritize_body;  // replaces the valid answer
  std::string status = R"({"mode":"live"})";
  std::vector<json> asked;
  std::optional<http::Server> swarm, shim, controller;

  static FleetOptions sleepers() {
    FleetOptions options;
    options.sleep_speedup = 1000;
    return options;
  }
  World() {
    start_swarm();
    start_shim();
  }
  void start_swarm(std::uint16_t port = 0) {
    http::Routes routes;
    routes["GET /nodes"] = [this](const http::Request&) {
      const std::lock_guard lock(mutex);
      return http::Response{200, "application/json", nodes_json(fleet, mono_from_ns(1'000'000'000), epoch, {})};
    };
    routes["POST /pods"].max_body_bytes = 64 << 10;
    routes["POST /pods"].handler = [this](const http::Request& request) {
      const std::lock_guard lock(mutex);
      auto pod = parse_pod(request.body);
      if (!pod) return answer_error(pod.error());
      const auto bound = fleet.bind(*pod, mono_from_ns(1'000'000'000));
      return bound ? http::Response{201, "application/json", "{}"} : answer_error(bound.error());
    };
    routes["DELETE /pods/"] = [this](const http::Request& request) {
      const std::lock_guard lock(mutex);
      const auto gone = fleet.unbind(request.path.substr(6), mono_from_ns(1'000'000'000));
      return gone ? http::Response{200, "application/json", "{}"} : answer_error(gone.error());
    };
    swarm.emplace(std::move(*http::Server::start({.port = port}, routes, log)));
  }
  void start_shim(std::uint16_t port = 0) {
    http::Routes routes;
    routes["POST /prioritize"].max_body_bytes = 8 << 20;
    routes["POST /prioritize"].handler = [this](const http::Request& request) {
      const std::lock_guard lock(mutex);
      asked.push_back(json::parse(request.body));
      if (!prioritize_body.empty()) return http::Response{200, "application/json", prioritize_body};
      json scores = json::array();
      for (const json& name : asked.back()["NodeNames"])
        scores.push_back({{"Host", name}, {"Score", name == favourite ? 10 : 0}});
      return http::Response{200, "application/json", scores.dump()};
    };
    routes["GET /metrics"] = [this](const http::Request&) {
      const std::lock_guard lock(mutex);
      return http::Response{200, "text/plain",
                            "wattle_shim_answers_total{source=\"controller\"} " + std::to_string(asked.size()) + "\n"};
    };
    shim.emplace(std::move(*http::Server::start({.port = port}, routes, log)));
  }
  void start_controller() {
    http::Routes routes;
    routes["GET /api/v1/nodes"] = [this](const http::Request&) {
      const std::lock_guard lock(mutex);
      json nodes = json::array();
      for (std::size_t i = 0; i < fleet.size(); ++i) {
        const std::string& name = fleet.server(i).name;
        json node{{"name", name}, {"connected", !asleep.contains(name)}};
        node["power"] = json{{"state", asleep.contains(name) ? "asleep" : "awake"}};
        nodes.push_back(std::move(node));
      }
      return http::Response{200, "application/json", json{{"nodes", nodes}}.dump()};
    };
    routes["GET /api/v1/status"] = [this](const http::Request&) {
      return http::Response{200, "application/json", status};
    };
    controller.emplace(std::move(*http::Server::start({.port = 0}, routes, log)));
  }
  // Without time for its shutdown, because the fleet's clock does not advance.
  void sleeps(std::size_t node) {
    const std::lock_guard lock(mutex);
    asleep.insert(fleet.server(node).name);
    fleet.turn(node, false, mono_from_ns(1'000'000'000));
    fleet.follow(mono_from_ns(2'000'000'000));
  }
  DriveOptions options(std::size_t pods) const {
    DriveOptions value;
    value.shim = {"127.0.0.1", shim->port()};
    value.swarm = {"127.0.0.1", swarm->port()};
    value.controller = {"127.0.0.1", 1};  // no listener
    value.deadline = std::chrono::milliseconds(5000);
    value.pods = pods;
    value.period_s = 1;
    value.run_s = 60;
    return value;
  }
  void run(Driver& driver, double seconds) {
    const MonoTime until = clock.mono() + from_seconds(seconds);
    while (clock.mono() < until) clock.advance_to(std::min(driver.step(), until));
  }
};

}  // namespace

TEST_CASE("a window of pods rotates: the oldest is deleted, and advice places the new one") {
  World world;
  Driver driver(world.options(5), std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 20);
  CHECK(driver.running() == 5);
  CHECK(driver.counts().removed > 10);
  CHECK(driver.wattle().costs().placements == driver.counts().removed + 5);
  CHECK(driver.wattle().costs().placements == driver.by_default().costs().placements);
  const std::lock_guard lock(world.mutex);
  CHECK(world.fleet.pods() == 5);
  CHECK(world.fleet.pods_on(2) == 5);
  REQUIRE_FALSE(world.asked.empty());
  CHECK(world.asked[0]["NodeNames"].size() == 4);
  CHECK(world.asked[0]["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "250m");
}

TEST_CASE("both accounts cover the same time, and the summary names the comparison") {
  World world;
  Driver driver(world.options(3), std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 30);
  driver.finish();
  const json summary = json::parse(summary_json(driver));
  CHECK(summary["seconds"].get<double>() == doctest::Approx(30));
  CHECK(driver.by_default().costs().seconds == doctest::Approx(30));
  CHECK(summary["wattle"]["idle_energy_j"].get<double>() ==
        doctest::Approx(summary["default"]["idle_energy_j"].get<double>()));
  CHECK(summary["wattle"]["energy_j"].get<double>() > summary["wattle"]["idle_energy_j"].get<double>());
  CHECK(summary["answers"]["advised"] == summary["answers"]["asked"]);
  CHECK(summary["answers"]["by_source"]["controller"].get<double>() > 0);
  CHECK(summary["controller"].is_null());
  CHECK(summary_text(driver).find("Default: the same pods") != std::string::npos);
  CHECK(live_table(driver).find("sim-03") != std::string::npos);
  const std::lock_guard lock(world.mutex);
  CHECK(world.fleet.pods() == 0);
}

TEST_CASE("a twin places the same pods by its own extender, and the summary has its joules") {
  World world, other;
  other.favourite = "sim-01";
  DriveOptions options = world.options(5);
  options.twin = {{"127.0.0.1", other.shim->port()}, {"127.0.0.1", other.swarm->port()}, {"127.0.0.1", 1}};
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 20);
  REQUIRE(driver.twin() != nullptr);
  CHECK(driver.twin()->ledger().costs().placements == driver.wattle().costs().placements);
  CHECK(driver.twin()->ledger().pods_on(1) == 5);
  CHECK(driver.twin()->ledger().costs().seconds == doctest::Approx(driver.wattle().costs().seconds));
  {
    const std::lock_guard lock(other.mutex);
    CHECK(other.fleet.pods_on(1) == 5);
  }
  other.swarm.reset();  // pods wait until the swarm is back
  world.run(driver, 5);
  CHECK(driver.twin()->ledger().pods_on(1) == 5);
  driver.finish();
  const json phase = json::parse(summary_json(driver))["phases"][0];
  CHECK(phase["without_learning_energy_j"].get<double>() == doctest::Approx(driver.twin()->ledger().costs().energy_j));
  CHECK(phase["without_learning_energy_j"] != phase["energy_j"]);
}

TEST_CASE("line and table show the saving and each alarm, worst first, and the summary why nothing learned served") {
  World world, other;
  world.status = R"({"mode":"live","modelled":{"text":"saves 20 W"},"alarms":[
    {"text":"the store accepts no records: full"},{"text":"1 of 4 nodes is silent"}]})";
  world.start_controller();
  DriveOptions options = world.options(5);
  options.controller = {"127.0.0.1", world.controller->port()};
  options.twin = {{"127.0.0.1", other.shim->port()}, {"127.0.0.1", other.swarm->port()}, {"127.0.0.1", 1}};
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 10);
  CHECK(live_line(driver).find("; saving: saves 20 W; alarm: the store accepts no records: full; alarm: 1 of 4 nodes "
                               "is silent") != std::string::npos);
  CHECK(live_table(driver).find("\nalarm:      1 of 4 nodes is silent\n") != std::string::npos);
  driver.finish();
  std::string summary = summary_text(driver);
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  CHECK(summary.find("No learned network served") != std::string::npos);
}

TEST_CASE("a sleeping node gets no pods, and its phase compares watts with all nodes on") {
  World world;
  world.start_controller();
  DriveOptions options = world.options(5);
  options.controller = {"127.0.0.1", world.controller->port()};
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 10);
  CHECK(driver.phase() == 1);
  CHECK(driver.wattle().pods_on(2) == 5);
  const double before_j = driver.wattle().costs().energy_j;
  const double idle_w = world.fleet.server(1).watts_at(world.fleet.background_cores(1) / world.fleet.server(1).cores);
  world.sleeps(1);
  world.favourite = "sim-01";  // advised but cordoned
  world.run(driver, 20);
  driver.finish();
  CHECK(driver.phase() == Driver::kSleeping);
  CHECK(driver.wattle().pods_on(1) == 0);
  const Costs& costs = driver.wattle().costs();
  CHECK(costs.shutdowns == 1);
  CHECK(costs.boots == 0);
  CHECK(costs.transitions_j == doctest::Approx(ServerSwitch::shutdown_j()));
  CHECK(costs.energy_j - before_j > ServerSwitch::shutdown_j());
  const Driver::PhaseCosts& phase = driver.phases()[Driver::kSleeping];
  CHECK(phase.seconds > 15);
  CHECK(driver.by_default().costs().transitions_j == 0);
  CHECK(driver.by_default().costs().idle_energy_j == doctest::Approx(costs.idle_energy_j));
  CHECK(phase.energy_j < phase.default_energy_j + ServerSwitch::shutdown_j() - (idle_w - 20) * (phase.seconds - 2));
  std::string words = summary_text(driver);
  std::replace(words.begin(), words.end(), '\n', ' ');
  CHECK(words.find("Sleep. In the") != std::string::npos);
  CHECK(words.find(": 1 x 620 J for shutdowns, 0 x 19030 J for boots") != std::string::npos);
  CHECK(live_line(driver).find("asleep=1") != std::string::npos);
  CHECK(live_table(driver).find("  asleep") != std::string::npos);
  CHECK(json::parse(summary_json(driver))["wattle"]["shutdowns"] == 1);
}

TEST_CASE("a pod that fits on no awake node waits, is reported as requested, and runs once a node wakes") {
  World world;
  world.start_controller();
  DriveOptions options = world.options(5);
  options.controller = {"127.0.0.1", world.controller->port()};
  for (std::size_t i = 0; i < world.fleet.size(); ++i) world.sleeps(i);
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 5);
  CHECK(driver.running() == 0);
  CHECK(driver.counts().unschedulable == 1);
  std::string waits;
  {
    const std::lock_guard lock(world.mutex);
    REQUIRE(world.asked.size() > 1);
    waits = world.asked[0]["Pod"]["metadata"]["uid"].get<std::string>();
    CHECK(world.asked.back()["Pod"]["metadata"]["uid"] == waits);
    CHECK(world.asked.back()["NodeNames"].size() == 4);
    world.asleep.erase("sim-03");
  }
  world.run(driver, 1.2);  // the window is not full, so the first pod still runs
  CHECK(driver.running() > 0);
  CHECK(driver.wattle().pods_on(3) == driver.running());
  CHECK(driver.counts().unschedulable == 1);
  const std::lock_guard lock(world.mutex);
  const std::vector<FleetPod> pods = world.fleet.list();
  CHECK(std::any_of(pods.begin(), pods.end(), [&](const FleetPod& pod) { return pod.uid == waits; }));
}

TEST_CASE("without the shim scores are neutral and pods are still placed") {
  World world;
  const DriveOptions options = world.options(4);
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 5);
  world.shim.reset();
  const std::size_t before = driver.wattle().costs().placements;
  world.run(driver, 5);
  CHECK(driver.wattle().costs().placements > before);
  CHECK(driver.extender().counts().unanswered > 0);
  world.start_shim(options.shim.port);
  const std::uint64_t unanswered = driver.extender().counts().unanswered;
  world.run(driver, 5);
  CHECK(driver.extender().counts().unanswered == unanswered);
}

TEST_CASE("a malformed answer is counted and ignored, as in kube-scheduler") {
  World world;
  world.prioritize_body = R"([{"Host":"sim-00","Score":9.5}])";
  Driver driver(world.options(4), std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 5);
  CHECK(driver.extender().counts().malformed == driver.extender().counts().asked);
  CHECK(driver.wattle().costs().placements > 0);
}

TEST_CASE("a restarted swarm gets its nodes' pods again") {
  World world;
  Driver driver(world.options(4), std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 5);
  {
    const std::lock_guard lock(world.mutex);
    world.fleet = Fleet(synthetic_fleet(4, 3), {}, mono_from_ns(1'000'000'000));
    ++world.epoch;
  }
  world.run(driver, 3);
  CHECK(driver.placer().swarm_restarts() == 1);
  const std::lock_guard lock(world.mutex);
  CHECK(world.fleet.pods() == 4);
}

TEST_CASE("pods created and removed while the swarm is down are sent when it is back") {
  World world;
  const DriveOptions options = world.options(4);
  Driver driver(options, std::nullopt, world.clock, world.log);
  REQUIRE(driver.begin());
  world.run(driver, 5);
  world.swarm.reset();
  world.run(driver, 6);
  CHECK(driver.running() == 4);
  world.start_swarm(options.swarm.port);
  world.run(driver, 3);
  const std::lock_guard lock(world.mutex);
  CHECK(world.fleet.pods() == 4);
}
