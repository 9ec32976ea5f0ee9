// Usage reports by socket, by HTTP and by the built command line, across a restart.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "common/http/client.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

double energy_of(const json& object) {
  return object["measured_j"].get<double>() + object["estimated_j"].get<double>();
}

const json* row_of(const json& report, const std::string& key) {
  for (const json& row : report["rows"])
    if (row["key"] == key) return &row;
  return nullptr;
}

// Energy that nodes drew and that no row, idle, unattributed or missing part accounts for.
double lack_of(const json& report) {
  double sum = energy_of(report["idle"]) + energy_of(report["unattributed"]) + energy_of(report["missing"]);
  for (const json& row : report["rows"]) sum += energy_of(row);
  return std::abs(energy_of(report["nodes"]) - sum);
}

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

Ran wattle_cli(const World& world, const std::string& words) {
  const auto text_of = [&](const char* name) {
    std::ifstream in(world.dir / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string line = "cd '" + (world.dir / "") + "' && HOME=. WATTLE_CONFIG= '" + tests::bin_dir() + "/wattle' " +
                           words + " --timeout 20s --key reader --server-key server.pub --server " +
                           world.controller->endpoints().ask + " >out 2>err";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of("out"), text_of("err")};
}

}  // namespace

TEST_CASE("usage is reported by socket, HTTP and command line, and continues after a restart") {
  World world(2);
  world.config.store.path = world.dir / "store.db";
  world.config.learn.enabled = false;
  world.start();
  double before_j = 0;
  {
    Agents agents = connect_agents(world, 2);
    auto shim = world.ask_client(world.shim);
    for (const char* uid : {"p0", "p1"}) REQUIRE(shim.ask(ask_for(uid, {"n0", "n1"}), wattle::tests::soon()));
    agents[0]->place("p0");
    agents[1]->place("p1");
    auto reader = world.ask_client(world.reader);
    json report;
    CHECK(run_until(world, agents, [&] {
      report = answer(reader, "report", {{"since", "1h"}});
      const json* row = row_of(report, "default");
      return row != nullptr && (*row)["placements"] == 2 && (*row)["workloads"] == 2;
    }));
    CHECK(report["by"] == "namespace");
    CHECK(lack_of(report) < 1e-3);
    before_j = energy_of(report["nodes"]);
    CHECK(before_j > 0);
    CHECK((*row_of(answer(reader, "report", {{"by", "owner"}}), "ReplicaSet/web"))["placements"] == 2);
    CHECK((*row_of(answer(reader, "report", {{"by", "node"}}), "n1"))["placements"] == 1);
    // No agent reported labels.
    CHECK(answer(reader, "report", {{"by", "label"}, {"label", "team"}})["rows"][0]["key"] == "(unknown)");
  }
  world.controller.reset();
  world.start();
  auto reader = world.ask_client(world.reader);
  const json after = answer(reader, "report", {{"since", "7d"}});
  CHECK(energy_of(after["nodes"]) >= before_j);
  CHECK(lack_of(after) < 1e-3);
  CHECK((*row_of(after, "default"))["placements"] == 2);
  CHECK(after["cut"] == true);

  http::Client web("127.0.0.1", world.controller->endpoints().http_port);
  const auto same = web.request("GET", "/api/v1/report?since=7d", "", wattle::tests::soon());
  REQUIRE(same);
  CHECK(same->status == 200);
  json reported = json::parse(same->body);
  for (const char* key : {"rows", "idle", "unattributed", "nodes", "from_wall_s"}) CHECK(reported[key] == after[key]);
  const auto wrong = web.request("GET", "/api/v1/report?by=pod", "", wattle::tests::soon());
  REQUIRE(wrong);
  CHECK(wrong->status == 400);
  CHECK(wrong->body.find("use namespace, owner, node, label or container") != std::string::npos);

  REQUIRE(world.reader.save(world.dir / "reader"));
  std::ofstream(world.dir / "server.pub") << world.server.public_key << "\n";
  const Ran table = wattle_cli(world, "report --since 7d");
  CAPTURE(table.err);
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("on; there is no earlier data\nNAMESPACE") != std::string::npos);
  CHECK(table.out.find("\ndefault ") != std::string::npos);
  CHECK(table.out.find("\n(all nodes) ") != std::string::npos);
  const Ran document = wattle_cli(world, "report --since 7d --by node -o json");
  CHECK(document.exit_code == 0);
  CHECK(row_of(json::parse(document.out), "n0") != nullptr);
  const Ran no_key = wattle_cli(world, "report --by label");
  CHECK(no_key.exit_code == 2);
  CHECK(no_key.err.find("argument label: is missing (pass the key of the label") != std::string::npos);
  CHECK(wattle_cli(world, "report --since soon").err.find("argument since: invalid value 'soon'") != std::string::npos);
  CHECK(wattle_cli(world, "report --by pod").exit_code == 2);
}

TEST_CASE("without a store a report says which setting is missing") {
  World world(1);
  world.config.learn.enabled = false;
  world.start();
  auto reader = world.ask_client(world.reader);
  const auto refused = query(reader, "report");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("set store.path") != std::string::npos);
  http::Client web("127.0.0.1", world.controller->endpoints().http_port);
  CHECK(web.request("GET", "/api/v1/report", "", wattle::tests::soon())->status == 404);
}
