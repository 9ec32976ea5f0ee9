#include "controller/web/documents.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>

#include "controller/decisions/decision_row.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/controller/live_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

TEST_CASE("a pod's report has the power of each container and the rest, which add up to the pod's") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  for (int i = 0; i < 3; ++i) rig.tick({"p1"});
  rig.state.pods().name_containers("p1", "0123456789ab=web,ba9876543210=side");
  Record record = record_at(++rig.seq);
  WorkloadValues pod = pod_values("p1", 800'000);
  pod.energy_uj = 8'000'000;
  pod.containers = {{"0123456789ab", 500'000, 5'000'000}, {"ffffffffffff", 200'000, 2'000'000}};
  record.workloads = {pod};
  rig.clock.advance(1s);
  rig.state.apply("n1", record, rig.clock.mono());
  const auto reported = rig.get("pod", {{"pod", "p1"}});
  REQUIRE(reported);
  const json& one = (*reported)["pod"];
  CHECK(one["name"] == "p1-name");
  REQUIRE(one["containers"].size() == 2);
  CHECK(one["containers"][0]["name"] == "web");
  CHECK(one["containers"][0]["id"] == "0123456789ab");
  CHECK(one["containers"][0]["power_w"].get<double>() == doctest::Approx(5));
  CHECK(one["containers"][0]["cpu_cores"].get<double>() == doctest::Approx(0.5));
  CHECK(one["containers"][0]["energy_j"].get<double>() == doctest::Approx(5));
  CHECK(one["containers"][1]["name"].is_null());
  CHECK(one["rest"]["power_w"].get<double>() == doctest::Approx(1));
  CHECK(one["rest"]["cpu_cores"].get<double>() == doctest::Approx(0.1));
  double sum_j = one["rest"]["energy_j"].get<double>();
  for (const json& container : one["containers"]) sum_j += container["energy_j"].get<double>();
  CHECK(sum_j == doctest::Approx(one["energy_j"].get<double>()));
  CHECK(one["rest"]["cost"].is_null());
  rig.config.tariff = {0.36, 720, "EUR"};
  const json priced = rig.get("pod", {{"pod", "p1"}}).value()["pod"];
  CHECK(priced["containers"][0]["cost"].get<double>() == doctest::Approx(5e-7));
  CHECK(priced["rest"]["co2_g"].get<double>() == doctest::Approx(2e-4 * priced["rest"]["energy_j"].get<double>()));
  CHECK(rig.get("policy").value()["saving"]["cost_treated_per_core_hour"].is_null());
  // Also by name. A container that ended stays in the list.
  record.seq = ++rig.seq;
  record.workloads[0].containers = {{"ba9876543210", 800'000, 8'000'000}};
  rig.clock.advance(1s);
  rig.state.apply("n1", record, rig.clock.mono());
  const auto by_name = rig.get("pod", {{"pod", "p1-name"}});
  REQUIRE(by_name);
  REQUIRE((*by_name)["pod"]["containers"].size() == 3);
  CHECK((*by_name)["pod"]["containers"][0]["name"] == "side");
  CHECK((*by_name)["pod"]["containers"][1]["power_w"] == 0);
  CHECK(rig.get("pod", {{"pod", "nobody"}}).error().code == Errc::not_found);
  CHECK(rig.get("pod").error().code == Errc::malformed);
}

TEST_CASE("an agent's finding is parsed, whatever parentheses it contains") {
  const auto lost = parse_finding("cgroup: lost: not whole (raise the limit (LimitNOFILE, ulimit -n))");
  CHECK(lost.name == "cgroup");
  CHECK(lost.state == "lost");
  CHECK(lost.detail == "not whole");
  CHECK(lost.fix == "raise the limit (LimitNOFILE, ulimit -n)");
  const auto ok = parse_finding("energy: ok: estimated from utilisation (table)");
  CHECK(ok.state == "ok");
  CHECK(ok.detail == "estimated from utilisation (table)");
  CHECK(ok.fix.empty());
  const auto absent = parse_finding("hwmon: absent: no chip (of these)");
  CHECK(absent.state == "absent");
  CHECK(absent.fix.empty());
  const auto plain = parse_finding("rapl: lost: no zones");
  CHECK(plain.detail == "no zones");
  CHECK(plain.fix.empty());
  for (const char* odd : {"x: lost: )", "x: lost: a) b)", "x: lost: (only)", "x: lost:", "x", ""})
    CHECK_MESSAGE(parse_finding(odd).fix.empty(), odd);
}

TEST_CASE("documents have the shapes of docs/reference/api.md") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2", "ghost"}));
  for (int i = 0; i < 6; ++i) rig.tick({"p1"});

  const auto status = rig.get("status");
  REQUIRE(status);
  CHECK((*status)["mode"] == "live");
  CHECK((*status)["decisions"] == 1);
  CHECK((*status)["loss"].is_null());
  CHECK((*status)["power_w"].get<double>() == doctest::Approx(203));

  const auto nodes = rig.get("nodes");
  REQUIRE(nodes);
  const json& node = (*nodes)["nodes"][0];
  CHECK(node["name"] == "n1");
  CHECK(node["power_w"].get<double>() == doctest::Approx(101));
  CHECK(node["idle_w"].is_null());
  CHECK(node["psi"]["cpu_some_ratio"].is_null());
  CHECK(node["pods"] == 1);
  CHECK(node["pod_capacity"].is_null());
  CHECK(node["curve"]["source"] == "fitted");

  const auto one = rig.get("node", {{"name", "n1"}});
  REQUIRE(one);
  CHECK((*one)["node"]["findings"][0] ==
        json{{"name", "rapl"}, {"state", "lost"}, {"detail", "no powercap zones"}, {"fix", "load intel_rapl_common"}});
  CHECK((*one)["node"]["findings"][1]["state"] == "ok");
  CHECK((*one)["node"]["workloads"].size() == 1);

  const auto pods = rig.get("pods", {{"node", "n1"}});
  REQUIRE(pods);
  CHECK((*pods)["pods"][0]["name"] == "p1-name");
  CHECK((*pods)["pods"][0]["decision_id"] == 1);
  CHECK((*pods)["pods"][0]["cpu_cores"].get<double>() == doctest::Approx(0.8));

  const auto decisions = rig.get("decisions", {{"limit", "5"}});
  REQUIRE(decisions);
  CHECK((*decisions)["decisions"][0]["candidates"] == 3);
  CHECK((*decisions)["decisions"][0]["masked"] == 1);
  CHECK((*decisions)["decisions"][0]["outcome"]["node"] == "n1");

  const auto explained = rig.get("explain", {{"pod", "p1"}});
  REQUIRE(explained);
  const json& decision = (*explained)["decision"];
  CHECK(decision["candidates"][2]["masked"] == "unknown node");
  CHECK(decision["candidates"][2]["q"].is_null());
  CHECK(decision["features"]["names"].size() == decision["features"]["winner"].size());
  for (const char* terms : {"winner_terms", "runner_up_terms"}) {
    const auto named = decision[terms == std::string("winner_terms") ? "winner" : "runner_up"].get<std::string>();
    for (const json& candidate : decision["candidates"]) {
      if (candidate["node"] != named) continue;
      const double sum = decision[terms]["energy"].get<double>() + decision[terms]["latency"].get<double>() +
                         decision[terms]["residual"].get<double>();
      CHECK(sum == doctest::Approx(candidate["q"].get<double>()));
    }
    CHECK(decision[terms]["uncertainty"].is_null());
  }
  CHECK(decision["demand_cores"].get<double>() == doctest::Approx(0.5));

  CHECK((*rig.get("doctor"))["controller"]["ok"] == true);
  CHECK(rig.get("node", {{"name", "nope"}}).error().code == Errc::not_found);
  CHECK(rig.get("node").error().code == Errc::malformed);
  CHECK(rig.get("decisions", {{"limit", "0"}}).error().code == Errc::malformed);
  CHECK(rig.get("nonsense").error().code == Errc::not_found);
}

TEST_CASE("a decision names the network that took part in it, even if another one serves now") {
  struct ZeroNetwork final : models::QNetwork {
    void residual(const models::Observation&, std::span<float> out) const override {
      std::fill(out.begin(), out.end(), 0.0F);
    }
    std::uint64_t step() const override { return 9; }
  };
  LiveRig rig;
  const auto model_of = [&](const char* pod) {
    const auto reported = rig.get("explain", {{"pod", pod}});
    REQUIRE(reported);
    return (*reported)["decision"]["model"];
  };
  rig.decider->asks().ask(ask_for("before", {"n1"}));
  CHECK(model_of("before").is_null());
  rig.networks.set(std::make_shared<ZeroNetwork>(), {"abc", "promoted"});
  rig.decider->asks().ask(ask_for("first", {"n1"}));
  rig.networks.set(std::make_shared<ZeroNetwork>(), {"def", ""});
  rig.decider->asks().ask(ask_for("second", {"n1"}));
  CHECK(model_of("first") == json{{"network_sha256", "abc"}, {"step", 9}, {"loaded_from", "promoted"}});
  CHECK(model_of("second") == json{{"network_sha256", "def"}, {"step", 9}, {"loaded_from", nullptr}});
  const auto listed = rig.get("decisions");
  REQUIRE(listed);
  CHECK((*listed)["decisions"][0]["model"]["network_sha256"] == "def");
  // A rule asks no network.
  RolloutSpec other = rig.decider->spec();
  other.policy = "planner";
  rig.decider->take(other);
  rig.decider->asks().ask(ask_for("ruled", {"n1"}));
  CHECK(model_of("ruled").is_null());
}

TEST_CASE("status, fleet and metrics count decisions by what decided them") {
  LiveRig rig;
  for (int i = 0; i < 7; ++i) {
    rig.decider->asks().ask(ask_for("p" + std::to_string(i), {"n1", "n2"}));
    rig.tick({});
  }
  rig.decider->asks().ask(ask_for("none", {"ghost"}));
  std::map<std::string, int> counted;
  const json decisions = *rig.get("decisions", {{"limit", "100"}});
  for (const json& each : decisions["decisions"]) ++counted[each["decided_by"].get<std::string>()];
  CHECK(counted["neutral"] >= 1);
  json wanted = json::object();
  for (const auto& [by, decisions_by] : counted) wanted[by] = decisions_by;
  const json status = *rig.get("status");
  CHECK(status["decided_by"] == wanted);
  CHECK(status["neutral"] == counted["neutral"]);
  CHECK((*rig.get("fleet"))["fleet"]["decided_by"] == wanted);
  const std::string text = *finished(metrics_text(rig.parts()));
  for (const std::string_view by : placement::kDeciders) {
    const std::string series = "wattle_controller_decisions_total{decided_by=\"" + std::string(by) + "\"} ";
    if (by == "scheduler")
      CHECK(text.find(series) == std::string::npos);
    else
      CHECK(text.find(series + std::to_string(counted[std::string(by)]) + "\n") != std::string::npos);
  }
}

TEST_CASE("after a restart the mean reward has only outcomes of the reward in force") {
  LiveRig before;
  for (int i = 0; i < 4; ++i) {
    before.decider->asks().ask(ask_for("p" + std::to_string(i), {"n1", "n2"}));
    for (int second = 0; second < 6; ++second) before.tick({"p" + std::to_string(i)});
  }
  const auto mean = before.decider->figures().mean_reward();
  REQUIRE(mean);
  LiveRig after, other;
  RolloutSpec spec = other.decider->spec();
  spec.reward.weights.energy = 2;
  other.decider->take(spec);
  for (const LoggedDecision& entry : before.decider->log().entries()) {
    after.decider->recall(*parse_decision(decision_row(entry)));
    other.decider->recall(*parse_decision(decision_row(entry)));
  }
  CHECK((*after.get("status"))["mean_reward"].get<double>() == doctest::Approx(*mean));
  CHECK((*other.get("status"))["mean_reward"].is_null());
}

TEST_CASE("a budget that is not in force has no limit, in every document and in metrics") {
  LiveRig rig;
  const auto budgets = [&](const std::string& what) {
    const json document = *rig.get(what);
    return what == "fleet" ? document["fleet"]["budgets"] : document["budgets"];
  };
  for (const std::string what : {"status", "fleet"}) {
    CHECK(budgets(what)["late"]["in_force"] == false);
    CHECK(budgets(what)["late"]["limit"].is_null());
    CHECK(budgets(what)["late"]["exceeded"] == false);
    CHECK(budgets(what)["cpu_wait"]["in_force"] == true);
    CHECK(budgets(what)["cpu_wait"]["limit"] == 0.01);
  }
  CHECK(finished(metrics_text(rig.parts()))->find("budget_limit_ratio{budget=\"late\"}") == std::string::npos);
  RolloutSpec spec = rig.decider->spec();
  spec.limits.late = 0.02;
  rig.decider->take(spec);
  CHECK(budgets("status")["late"]["in_force"] == true);
  CHECK(budgets("fleet")["late"]["limit"] == 0.02);
  CHECK(finished(metrics_text(rig.parts()))->find("\nwattle_controller_budget_limit_ratio{budget=\"late\"} 0.02\n") !=
        std::string::npos);
}

TEST_CASE("metrics are Prometheus text with one sample per node") {
  LiveRig rig;
  const std::string text = *finished(metrics_text(rig.parts()));
  CHECK(text.find("# TYPE wattle_controller_node_power_watts gauge") != std::string::npos);
  CHECK(text.find("wattle_controller_node_power_watts{node=\"n2\"} 102") != std::string::npos);
  const std::string source = "wattle_controller_node_energy_source{node=\"n2\",source=";
  CHECK(text.find(source + "\"rapl\"} 1\n") != std::string::npos);
  CHECK(text.find(source + "\"estimated\"} 0\n") != std::string::npos);
  CHECK(text.find("wattle_controller_mode{mode=\"live\"} 1\n") != std::string::npos);
  CHECK(text.find("wattle_controller_mode{mode=\"shadow\"} 0\n") != std::string::npos);
  CHECK(text.find("wattle_controller_reward{preset=\"weighted\"} 1\n") != std::string::npos);
  CHECK(text.find("wattle_node_") == std::string::npos);  // the agents export those names
  CHECK(text.find("wattle_controller_decisions_total{decided_by=\"network\"} 0") != std::string::npos);
}
