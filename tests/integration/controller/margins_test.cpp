// The provisioning teacher in a controller: minutes that agents report for services, what it learns, and the steps
// that it sends only to a service's node.
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

// Services under limits whose rule decreases to its least margin. A minute ends only after the record with the previous
// minutes is acknowledged, so that each service can get its step.
class Services {
 public:
  // Bounds of a record: services, and minutes of each.
  Services(ScriptedAgent& agent, std::size_t count, std::size_t minutes_at_once)
      : agent_(agent), at_once_(minutes_at_once) {
    for (std::size_t i = 0; i < count; ++i)
      last_.push_back(
          {.name = i == 0 ? "web.service" : "web" + std::to_string(i) + ".service", .rule_margin_ratio = 0.3});
    agent.with([this](Record& record) { report(record); });
  }
  ~Services() { end(); }
  void end() { agent_.with({}); }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  std::uint64_t rounds = 0, minutes = 0, steered = 0, of_memory = 0;  // steps that limit memory

 private:
  void report(Record& record) {
    if (agent_.status().acked_seq < reported_in_) return;
    reported_in_ = record.seq;
    ++rounds;
    record.limit_minutes.clear();
    for (LimitMinute& last : last_)
      for (std::size_t i = 0; i < at_once_; ++i) record.limit_minutes.push_back(next(last));
  }
  LimitMinute next(LimitMinute& last) {
    LimitMinute minute = last;
    const auto& steps = agent_.status().margins;
    const auto step = steps.find(minute.name);
    minute.steered = step != steps.end() && step->second.minute == minute.number;
    minute.margin_ratio = minute.steered ? step->second.margin_ratio : minute.rule_margin_ratio;
    minute.rule_margin_ratio = std::max(-0.1, minute.margin_ratio - 0.03);
    minute.memory_margin_ratio = 0.15;
    if (minute.steered && step->second.memory_margin_ratio) {
      minute.memory_margin_ratio = step->second.memory_margin_ratio;
      ++of_memory;
    }
    minute.memory_used_bytes = std::uint64_t{1} << 28;
    minute.memory_granted_bytes =
        static_cast<std::uint64_t>(static_cast<double>(1 << 28) * (1 + *minute.memory_margin_ratio));
    minute.used_cores = 0.5;
    minute.granted_cores = 0.5 * (1.1 + minute.margin_ratio);
    minute.requests = 6000;
    minute.requests_over = 6;
    ++minute.number;
    ++minutes;
    steered += minute.steered;
    last = minute;
    return minute;
  }
  ScriptedAgent& agent_;
  const std::size_t at_once_;
  std::uint64_t reported_in_ = 0;  // the record of the last minutes
  std::vector<LimitMinute> last_;
};

json margins_of(World& world) {
  auto reader = world.ask_client(world.reader);
  return answer(reader, "margins");
}

// An agent sends its next record after the previous one is acknowledged. More records would exceed the agent's share of
// the controller's time (controller/limits.hpp) where sanitizers slow down each record, and would be served rarely.
bool rounds_until(World& world, Agents& agents, const Services& services, const std::function<bool()>& done) {
  constexpr std::uint64_t kMostRounds = 2'000;
  std::vector<std::uint64_t> sent(agents.size());
  MonoTime until = world.clock.mono() + kPatience;
  for (std::uint64_t before = services.rounds; services.rounds < kMostRounds && world.clock.mono() < until;) {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      if (agents[i]->status().acked_seq >= sent[i]) {
        agents[i]->tick();
        sent[i] = agents[i]->seq();
      }
      agents[i]->pump();
    }
    if (done()) return true;
    if (services.rounds > before) until = world.clock.mono() + kPatience;  // restarts the timeout with each round
    before = services.rounds;
    transport::poll({}, {}, 1ms);
  }
  return false;
}

}  // namespace

TEST_CASE("in mode shadow the teacher learns from reported minutes, steers no service, and survives a restart") {
  World world(1);
  world.start();
  std::uint64_t steps = 0;
  {
    CHECK(margins_of(world)["learned"]["minutes"] == 0);
    Agents agents = connect_agents(world, 1);
    Services services(*agents[0], 1, 20);
    if (margins_of(world)["learned"].is_null()) return;
    REQUIRE(rounds_until(world, agents, services, [&] { return services.minutes >= 320; }));
    services.end();  // each reported minute is learned from, however long a step takes
    json reported;
    REQUIRE(run_until(world, agents, [&] {
      reported = margins_of(world);
      const json& learned = reported["learned"];
      return (learned["steps"].get<std::uint64_t>() >= 20 && learned["replay"].get<std::uint64_t>() >= 300) ||
             learned["failures"].get<std::uint64_t>() > 0;
    }));
    if (reported["learned"]["problem"].is_string()) return;  // built without libtorch
    CHECK(services.steered == 0);
    CHECK(reported["mode"] == "shadow");
    CHECK(reported["pairs"] == 0);
    REQUIRE(reported["services"].size() == 1);
    const json& row = reported["services"][0];
    CHECK(row["node"] == "n0");
    CHECK(row["service"] == "web.service");
    CHECK(row["requests_per_s"] == 100);
    CHECK(row["over_ratio"] == 0.001);
    CHECK(row["next"] == "rule");
    CHECK(row["memory"]["margin_ratio"] == 0.15);
    CHECK(row["memory"]["used_bytes"] == 1 << 28);
    CHECK(row["teacher"]["memory_margin_ratio"].is_number());
    CHECK(row["student_out"] == false);
    CHECK(reported["out"].empty());
    CHECK(row["cost"].get<double>() > 0.99);
    steps = reported["learned"]["steps"].get<std::uint64_t>();
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
  Services services(*agents[0], 20, 1);
  json reported;
  std::uint64_t asked_in = 0;
  REQUIRE(rounds_until(world, agents, services, [&] {
    CHECK(agents[1]->status().margins.empty());
    if (services.rounds >= asked_in + 5) {
      reported = margins_of(world);
      asked_in = services.rounds;
    }
    return (reported.contains("pairs") && reported["pairs"].get<std::uint64_t>() >= 2) ||
           (reported.contains("learned") && reported["learned"]["failures"].get<std::uint64_t>() > 0);
  }));
  if (reported["learned"]["problem"].is_string()) return;  // built without libtorch
  CHECK(services.steered > 20);
  CHECK(services.of_memory == services.steered);
  CHECK(reported["in_force"] == "canary");
  CHECK(reported["teacher"]["minutes"].get<std::uint64_t>() > 20);
}

TEST_CASE("with provisioning.teacher off no minute is evaluated, and the document says how to enable it") {
  World world(1);
  world.config.teacher = TeacherMode::off;
  world.start();
  Agents agents = connect_agents(world, 1);
  Services services(*agents[0], 1, 1);
  REQUIRE(rounds_until(world, agents, services, [&] { return services.rounds >= 30; }));
  CHECK(agents[0]->status().margins.empty());
  auto reader = world.ask_client(world.reader);
  const auto refused = query(reader, "margins");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("provisioning.teacher") != std::string::npos);
}
