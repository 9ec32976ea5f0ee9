// A student in a controller: all agents get the same bytes, a restart keeps it, and a withdrawal removes it.
#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "provision/minute/student_file.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/unit/controller/student_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

// Each record adds one minute of a service with unknown latency.
void report_minutes(Agents& agents, std::vector<std::uint64_t>& numbers, const bool& out) {
  numbers.resize(agents.size());
  for (std::size_t i = 0; i < agents.size(); ++i)
    agents[i]->with([&numbers, &out, i](Record& record) {
      LimitMinute minute;
      minute.name = "batch.service";
      minute.number = ++numbers[i];
      minute.margin_ratio = minute.rule_margin_ratio = 0.2;
      minute.used_cores = 0.5;
      minute.granted_cores = 0.6;
      minute.student_out = out;
      record.limit_minutes = {minute};
    });
}

json student_of_query(World& world) {
  auto reader = world.ask_client(world.reader);
  return answer(reader, "margins")["student"];
}

bool all_have(const Agents& agents, std::uint64_t version) {
  return std::all_of(agents.begin(), agents.end(), [&](const auto& agent) {
    return agent->status().student_version == version && (version == 0 || agent->status().student);
  });
}

}  // namespace

TEST_CASE("agents get the same student, also after a controller restart, until it is withdrawn") {
  if (!has_torch()) return;
  constexpr std::size_t kNodes = 3;
  World world(kNodes);
  world.config.teacher = TeacherMode::canary;
  std::string sent;
  {
    // Adds days of minutes before the controller starts.
    Path path(world.config.data_dir);
    REQUIRE(path.live_until(stats::NetworkState::in_use, 1));
    path.learner->save();
    sent = file_of(*path.learner->student());
  }
  REQUIRE(models::provision::parse_student(sent, "student"));
  std::vector<std::uint64_t> numbers;
  bool out = false;
  for (int start = 0; start < 2; ++start) {
    world.start();
    Agents agents = connect_agents(world, kNodes);
    report_minutes(agents, numbers, out);
    REQUIRE(run_until(world, agents, [&] { return all_have(agents, 1); }));
    for (const auto& agent : agents) CHECK(*agent->status().student == sent);
    const json reported = student_of_query(world);
    CHECK(reported["state"] == "in_use");
    CHECK(reported["version"] == 1);
    CHECK(reported["withdrawn"] == 0);
    if (start == 1) {
      out = true;
      REQUIRE(run_until(world, agents, [&] { return all_have(agents, 0); }));
      const json withdrawn = student_of_query(world);
      CHECK(withdrawn["state"] == "withdrawn");
      CHECK(withdrawn["withdrawn"] == 1);
      CHECK(withdrawn["why"].get<std::string>().find("throttled too often") != std::string::npos);
      http::Client web("127.0.0.1", world.controller->endpoints().http_port);
      const auto page = web.request("GET", "/metrics", "", wattle::tests::soon());
      REQUIRE(page);
      CHECK(page->body.find("wattle_controller_network_state{network=\"student\",state=\"withdrawn\"} 1") !=
            std::string::npos);
      CHECK(page->body.find("wattle_controller_margin_students_withdrawn_total 1") != std::string::npos);
    }
    agents.clear();
    world.controller.reset();
  }
}
