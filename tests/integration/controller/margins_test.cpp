// The teacher of provisioning in a whole controller: what agents tell of their services' minutes, what it learns, and the steps that it
// sends to the node of a service and to nobody else.
#include <doctest/doctest.h>

#include <functional>

#include "common/http/client.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

// A service under a limit whose rule goes down to its least margin. A minute ends once the one before has been acknowledged, so that each
// has had its chance of a step.
class Service {
 public:
  explicit Service(ScriptedAgent& agent) : agent_(agent) {
    agent.with([this](Record& record) { tell(record); });
  }
  ~Service() { agent_.with({}); }
  std::uint64_t minutes = 0, steered = 0, of_memory = 0;  // steps that tell of memory

 private:
  void tell(Record& record) {
    if (agent_.status().acked_seq < told_in_) return;
    told_in_ = record.seq;
    const auto& steps = agent_.status().margins;
    const auto step = steps.find(minute_.name);
    minute_.steered = step != steps.end() && step->second.minute == minute_.number;
    minute_.margin_ratio = minute_.steered ? step->second.margin_ratio : minute_.rule_margin_ratio;
    minute_.rule_margin_ratio = std::max(-0.1, minute_.margin_ratio - 0.03);
    minute_.memory_margin_ratio = 0.15;
    if (minute_.steered && step->second.memory_margin_ratio) {
      minute_.memory_margin_ratio = step->second.memory_margin_ratio;
      ++of_memory;
    }
    minute_.memory_used_bytes = std::uint64_t{1} << 28;
    minute_.memory_granted_bytes =
        static_cast<std::uint64_t>(static_cast<double>(1 << 28) * (1 + *minute_.memory_margin_ratio));
    minute_.used_cores = 0.5;
    minute_.granted_cores = 0.5 * (1.1 + minute_.margin_ratio);
    minute_.requests = 6000;
    minute_.requests_over = 6;
    ++minute_.number;
    ++minutes;
    steered += minute_.steered;
    record.limit_minutes = {minute_};
  }
  ScriptedAgent& agent_;
  std::uint64_t told_in_ = 0;  // the record of the last minute
  LimitMinute minute_{.name = "web.service", .rule_margin_ratio = 0.3};
};

json margins_of(World& world) {
  auto reader = world.ask_client(world.reader);
  return answer(reader, "margins");
}

// However long a minute takes: only one that is never acknowledged ends it.
bool minutes_until(World& world, Agents& agents, const Service& service, const std::function<bool()>& done) {
  constexpr std::uint64_t kMostMinutes = 10'000;
  while (service.minutes < kMostMinutes) {
    const std::uint64_t before = service.minutes;
    bool is_done = false;
    if (!run_until(world, agents, [&] { return (is_done = done()) || service.minutes > before; })) return false;
    if (is_done) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("in mode shadow it learns of told minutes, steers nobody, and goes on after a restart") {
  World world(1);
  world.start();
  std::uint64_t steps = 0;
  {
    CHECK(margins_of(world)["learned"]["minutes"] == 0);
    Agents agents = connect_agents(world, 1);
    Service service(*agents[0]);
    if (margins_of(world)["learned"].is_null()) return;
    REQUIRE(minutes_until(world, agents, service, [&] { return service.minutes >= 320; }));
    json told;
    REQUIRE(run_until(world, agents, [&] {
      told = margins_of(world);
      return told["learned"]["steps"].get<std::uint64_t>() >= 20 ||
             told["learned"]["failures"].get<std::uint64_t>() > 0;
    }));
    if (told["learned"]["problem"].is_string()) return;  // built without libtorch
    CHECK(service.steered == 0);
    CHECK(told["mode"] == "shadow");
    CHECK(told["pairs"] == 0);
    REQUIRE(told["services"].size() == 1);
    const json& row = told["services"][0];
    CHECK(row["node"] == "n0");
    CHECK(row["service"] == "web.service");
    CHECK(row["requests_per_s"] == 100);
    CHECK(row["over_ratio"] == 0.001);
    CHECK(row["next"] == "rule");
    CHECK(row["memory"]["margin_ratio"] == 0.15);
    CHECK(row["memory"]["used_bytes"] == 1 << 28);
    CHECK(row["teacher"]["memory_margin_ratio"].is_number());
    CHECK(row["student_out"] == false);
    CHECK(told["out"].empty());
    CHECK(row["cost"].get<double>() > 0.99);
    steps = told["learned"]["steps"].get<std::uint64_t>();
    http::Client web("127.0.0.1", world.controller->endpoints().http_port);
    const auto page = web.request("GET", "/metrics", "", wattle::tests::soon());
    REQUIRE(page);
    CHECK(page->body.find("wattle_controller_margin_services 1") != std::string::npos);
  }
  world.controller.reset();
  world.start();
  const json again = margins_of(world);
  CHECK(again["learned"]["resumed_steps"].get<std::uint64_t>() >= steps);
  CHECK(again["learned"]["replay"].get<std::uint64_t>() >= 300);
}

TEST_CASE("in mode canary steps go to the service's own node, and the verdict counts pairs of blocks") {
  World world(2);
  world.config.teacher = TeacherMode::canary;
  world.start();
  Agents agents = connect_agents(world, 2);
  Service service(*agents[0]);
  json told;
  REQUIRE(minutes_until(world, agents, service, [&] {
    CHECK(agents[1]->status().margins.empty());
    if (service.minutes % 50 == 0) told = margins_of(world);
    return (told.contains("pairs") && told["pairs"].get<std::uint64_t>() >= 2) ||
           (told.contains("learned") && told["learned"]["failures"].get<std::uint64_t>() > 0);
  }));
  if (told["learned"]["problem"].is_string()) return;  // built without libtorch
  CHECK(service.steered > 20);
  CHECK(service.of_memory == service.steered);
  CHECK(told["in_force"] == "canary");
  CHECK(told["teacher"]["minutes"].get<std::uint64_t>() > 20);
}

TEST_CASE("with provisioning.teacher off nothing is looked at, and the document says how to change that") {
  World world(1);
  world.config.teacher = TeacherMode::off;
  world.start();
  Agents agents = connect_agents(world, 1);
  Service service(*agents[0]);
  REQUIRE(minutes_until(world, agents, service, [&] { return service.minutes >= 30; }));
  CHECK(agents[0]->status().margins.empty());
  auto reader = world.ask_client(world.reader);
  const auto refused = query(reader, "margins");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("provisioning.teacher") != std::string::npos);
}
