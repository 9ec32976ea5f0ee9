// policy: changes mode, policy and reward over real sockets, by role, and keeps them across a restart.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/json/value.hpp"
#include "common/sqlite/database.hpp"
#include "controller/store/control_file.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/places.hpp"
#include "tests/unit/common/log_lines.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

wire::Suggestion ask(transport::AskClient& shim, const std::string& uid) {
  auto answer = shim.ask(ask_for(uid, {"n0", "n1"}), wattle::tests::soon());
  if (!answer) FAIL(answer.error().message());
  return *answer;
}

}  // namespace

TEST_CASE("an operator changes policy and mode at run time; a reader may read them, and no other role changes them") {
  World world(2);
  world.config.mode = Mode::shadow;
  world.config.decide.mask.stale_after_s = 600;  // agents send nothing while this test asks
  world.start();
  Agents agents = connect_agents(world, 2);
  auto shim = world.ask_client(world.shim), reader = world.ask_client(world.reader),
       operator_client = world.ask_client(world.operator_key);
  CHECK(ask(shim, "p1").neutral);

  for (const char* what : {"policy-set", "policy-promote", "policy-rollback"})
    for (transport::AskClient* client : {&reader, &shim}) {
      const auto refused = query(*client, what, {{"mode", "live"}, {"force", "yes"}, {"why", "no"}});
      REQUIRE_FALSE(refused);
      CHECK(refused.error().message().find("operator") != std::string::npos);
    }
  const auto before = query(reader, "policy");
  REQUIRE(before);
  CHECK((*before)["mode"] == "shadow");
  CHECK((*before)["changes"].size() == 1);
  CHECK((*before)["durable"] == true);

  const auto closed = query(operator_client, "policy-set", {{"mode", "live"}, {"why", "now"}});
  REQUIRE_FALSE(closed);
  CHECK(closed.error().message().find("canary:10% is the next mode") != std::string::npos);
  CHECK(ask(shim, "p1b").neutral);
  const auto changed =
      query(operator_client, "policy-set",
            {{"mode", "live"}, {"policy", "planner"}, {"weight.contention", "2"}, {"force", "yes"}, {"why", "try it"}});
  if (!changed) FAIL(changed.error().message());
  CHECK((*changed)["policy"] == "planner");
  CHECK((*changed)["changes"][0]["who"] == "operator/operator");
  const wire::Suggestion answer = ask(shim, "p2");
  CHECK_FALSE(answer.neutral);
  CHECK(answer.policy == "planner");
  CHECK(answer.mode == "live");
  CHECK(*std::max_element(answer.scores.begin(), answer.scores.end()) == 10);
  const auto status = query(reader, "status");
  REQUIRE(status);
  CHECK((*status)["policy"] == "planner");
  CHECK((*status)["mode"] == "live");

  // A restart keeps the change and its author.
  agents.clear();
  world.controller.reset();
  world.start();
  auto again = world.ask_client(world.reader);
  const auto after = query(again, "policy");
  REQUIRE(after);
  CHECK((*after)["mode"] == "live");
  CHECK((*after)["policy"] == "planner");
  CHECK((*after)["reward"]["weights"]["contention"] == 2);
  CHECK((*after)["experiment"]["began_wall_ns"] == (*changed)["experiment"]["began_wall_ns"]);
  INFO((*after)["changes"].dump(2));
  // The operator's first change; the trainer records the saved network next to it as soon as it is done.
  const auto& changes = (*after)["changes"];
  const auto by_operator = std::find_if(changes.begin(), changes.end(),
                                        [](const auto& change) { return change["who"] == "operator/operator"; });
  REQUIRE(by_operator != changes.end());
  CHECK((*by_operator)["why"] == "try it");

  auto undo = world.ask_client(world.operator_key);
  const auto back = query(undo, "policy-rollback", {{"why", "enough"}});
  if (!back) FAIL(back.error().message());
  CHECK((*back)["mode"] == "shadow");
  CHECK((*back)["policy"] == "dqn");
}

TEST_CASE("a canary gives scores only in its treated blocks, and measures treated and control blocks") {
  World world(2);
  world.config.mode = {Mode::canary, 0.5};
  world.config.blocks.length = 1s;
  world.config.blocks.washout = 0s;
  world.config.repeat_within = 0s;
  world.config.decide.mask.stale_after_s = 600;
  world.config.policy = "node-order";  // most policies give no advice between two equal nodes
  world.start();
  Agents agents = connect_agents(world, 2);
  auto shim = world.ask_client(world.shim), reader = world.ask_client(world.reader);
  int treated = 0, control = 0;
  MonoTime next = world.clock.mono();
  CHECK(run_until(world, agents, [&] {
    if (world.clock.mono() < next) return false;
    next = world.clock.mono() + 100ms;
    // Always the same pod, never bound: other pods in flight would fill the nodes in a long run of treated blocks.
    const wire::Suggestion answer = ask(shim, "p");
    CHECK(answer.mode == "canary");
    const bool acted = *std::max_element(answer.scores.begin(), answer.scores.end()) == 10;
    CHECK(acted != answer.neutral);
    if (answer.neutral) CHECK(answer.reason.find("control block") != std::string::npos);
    ++(acted ? treated : control);
    return treated > 3 && control > 3;
  }));
  const auto decisions = query(reader, "decisions", {{"limit", "1000"}});
  REQUIRE(decisions);
  for (const json& decision : (*decisions)["decisions"]) {
    const auto mode = decision["mode"].get<std::string>();
    CHECK((mode == "canary, treated" || mode == "canary, control"));
  }
  CHECK(run_until(world, agents, [&] {
    const auto policy = query(reader, "policy");
    REQUIRE(policy);
    const json& saving = (*policy)["saving"];
    return saving["blocks_treated"].get<int>() + saving["blocks_control"].get<int>() +
               saving["blocks_unused"].get<int>() >=
           2;
  }));
}

TEST_CASE("pods beyond their soft latency limit are measured and keep a saving canary from going live") {
  World world(2);
  world.config.decide.mask.stale_after_s = 600;
  world.start();
  const std::string late = "pods exceeded their soft latency limit 100% of their time (limit 2%)";
  {
    Agents agents = connect_agents(world, 2);
    for (auto& agent : agents)
      agent->with([](Record& record) {
        ProbeValues probe;
        probe.target = "default";
        probe.p50_ms = 30;
        record.probes.push_back(probe);
      });
    auto shim = world.ask_client(world.shim), client = world.ask_client(world.operator_key);
    CHECK(answer(client, "policy")["late"]["measured"].is_null());
    wire::Ask asked = ask_for("slow", {"n0", "n1"});
    asked.latency_soft_ms = 20;
    REQUIRE(shim.ask(asked, wattle::tests::late()));
    agents[0]->place("slow");
    CHECK(run_until(world, agents, [&] { return !answer(client, "policy")["late"]["measured"].is_null(); }));
    const json measured = answer(client, "policy")["late"];
    CHECK(measured["measured"] == 1);
    CHECK(measured["set"] == false);
    CHECK(measured["price"].get<double>() >= 1);
    answer(client, "policy-set", {{"late", "2%"}, {"why", "users"}});
    const json policy = answer(client, "policy-set", {{"mode", "canary:50%"}, {"why", "to measure"}});
    CHECK(policy["promotion"]["closed_by"].get<std::string>().starts_with("measured blocks: 0 treated"));
  }
  world.controller.reset();  // writes knowledge
  {
    auto file = ControlFile::open_(world.config.data_dir + "/control.db");
    REQUIRE(file);
    const auto last = file->last();
    REQUIRE((last && *last));
    for (std::uint64_t number = 0; number < 2 * kLeastBlocks; ++number) {
      BlockResult block;
      block.number = number;
      block.treated = number % 2 == 0;
      block.seen_s = seconds(world.config.blocks.length - world.config.blocks.washout);
      block.node_s = block.watched_node_s = 2 * block.seen_s;
      block.core_h = 1;
      block.energy_j = (block.treated ? 800 : 1000) + static_cast<double>(number);
      REQUIRE(file->add((*last)->experiment, block));
    }
  }
  world.start();
  auto client = world.ask_client(world.operator_key);
  // The monitor runs once a second; until then it has no gate.
  Agents none;
  const bool closed = run_until(world, none, [&] {
    const json by = answer(client, "policy")["promotion"]["closed_by"];
    return by.is_string() && by.get<std::string>() == late;
  });
  const json policy = answer(client, "policy");
  CHECK_MESSAGE(closed, policy.dump(2));
  CHECK(policy["late"]["limit"] == 0.02);
  const auto refused = query(client, "policy-promote", {{"why", "now"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find(late) != std::string::npos);
}

TEST_CASE("an empty, missing, damaged or irregular control file does not undo an emergency off") {
  World world(1);
  world.config.mode = Mode::live;
  world.start();
  {
    auto client = world.ask_client(world.operator_key);
    REQUIRE(query(client, "policy-set", {{"mode", "off"}, {"why", "emergency"}}));
  }
  world.controller.reset();  // writes knowledge and a checkpoint
  const std::string file = world.config.data_dir + "/control.db";
  int aside = 0;
  SUBCASE("emptied, as a power cut leaves it") { std::filesystem::resize_file(file, 0); }
  SUBCASE("missing") { std::filesystem::remove(file); }
  SUBCASE("damaged") {
    REQUIRE(write_file_atomically(file, std::string(8192, 'x')));
    aside = 1;
  }
  SUBCASE("a FIFO") {
    std::filesystem::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    aside = 1;
  }
  SUBCASE("a directory") {
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    aside = 1;
  }
  for (int start = 0; start < 2; ++start) {  // the next restart must not undo it either
    world.controller.reset();
    world.start();
    auto client = world.ask_client(world.reader);
    const auto policy = query(client, "policy");
    REQUIRE(policy);
    CHECK((*policy)["mode"] == "shadow");
    CHECK((*policy)["durable"] == true);
  }
  for (const auto& entry : std::filesystem::directory_iterator(world.config.data_dir))
    aside -= entry.path().filename().string().starts_with("control.db.damaged-") ? 1 : 0;
  CHECK(aside <= 0);
}

namespace {

json policy_of(World& world) {
  auto client = world.ask_client(world.reader);
  return answer(client, "policy");
}

// The reason of the guard's last action; empty if there was none.
std::string guard_said(const json& policy) {
  for (const json& change : policy["changes"])
    if (change["who"] == "guard") return change["why"].get<std::string>();
  return {};
}

void edit_control_file(World& world, const std::string& sql) {
  world.controller.reset();
  auto database = sqlite::Database::open_(world.config.data_dir + "/control.db", {}, control_steps());
  REQUIRE(database);
  REQUIRE((*database)->run(sql));
}

}  // namespace

TEST_CASE("a restart keeps the state of gates and monitors; a damaged row is named and closes the gates") {
  World world(2);
  world.config.mode = Mode::shadow;
  world.config.repeat_within = 0s;
  world.config.decide.mask.stale_after_s = 600;
  world.start();
  Agents agents = connect_agents(world, 2);
  auto shim = world.ask_client(world.shim);
  int pods = 0;
  // Outcomes of shadow mode are control rewards; decisions count for the gate.
  CHECK(run_until(world, agents, [&] {
    if (pods < 30) {
      const std::string uid = "p" + std::to_string(pods);
      ask(shim, uid);
      agents[static_cast<std::size_t>(pods++ % 2)]->place(uid);
    }
    return pods == 30 && policy_of(world)["regression"]["control_rewards"].get<int>() >= 10;
  }));
  agents.clear();
  const json before = policy_of(world);
  CHECK(before["promotion"]["closed_by"] == "30 of 100 decisions needed for a canary");
  world.controller.reset();
  world.start();
  json after = policy_of(world);
  CHECK(after["promotion"] == before["promotion"]);
  CHECK(after["experiment"] == before["experiment"]);
  CHECK(after["regression"]["control_rewards"].get<int>() >= before["regression"]["control_rewards"].get<int>());
  {
    auto client = world.ask_client(world.operator_key);
    answer(client, "policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "a test"}});
  }
  for (const char* row : {"regression", "candidates", "gate"}) {
    CAPTURE(row);
    edit_control_file(world, "UPDATE monitor SET state = '' WHERE name = '" + std::string(row) + "'");
    world.start();
    after = policy_of(world);
    CHECK(after["mode"] == "shadow");
    CHECK(guard_said(after).find("monitor " + std::string(row) + ": is empty") != std::string::npos);
    auto client = world.ask_client(world.operator_key);
    answer(client, "policy-set", {{"mode", "live"}, {"force", "yes"}, {"why", "looked"}});
  }
}

TEST_CASE("a missing store is reported, except at the first start") {
  World world(1);
  world.config.store.path = world.dir / "store.db";
  const auto missed = [&] {
    const auto lines = wattle::test::lines_of([&] {
      const Log log("wattle-test", LogLevel::info, LogFormat::json);
      auto started = Controller::start(world.config, world.clock, log);
      REQUIRE(started);
    });
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.find("store.missing") != line.npos; });
  };
  CHECK(missed() == 0);
  CHECK(missed() == 0);
  std::filesystem::remove(world.dir / "store.db");
  CHECK(missed() == 1);
}

TEST_CASE("a control file of schema 1 is read with its policy and blocks") {
  World world(1);
  const std::filesystem::path data = world.config.data_dir;
  std::filesystem::create_directories(data);
  {
    std::ifstream kept(tests::source_dir() + "/tests/fixtures/kept/control-1.sql");
    const std::string sql((std::istreambuf_iterator<char>(kept)), {});
    auto database = sqlite::Database::open_((data / "control.db").string(), {}, {});
    REQUIRE(database);
    REQUIRE((*database)->run(sql));
  }
  world.config.mode = {Mode::canary, 0.5};
  for (int start = 0; start < 2; ++start) {
    world.controller.reset();
    world.start();
    const json policy = policy_of(world);
    CHECK(policy["mode"] == "canary:50%");
    CHECK(policy["experiment"]["began_wall_ns"] == 1795401881300135974);
    const json& saving = policy["saving"];
    CHECK(saving["blocks_treated"].get<int>() + saving["blocks_control"].get<int>() +
              saving["blocks_unused"].get<int>() >=
          3);
  }
}
