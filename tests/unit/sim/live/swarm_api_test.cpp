#include "sim/live/swarm_api.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::sim::live;
using json = wattle::SortedJson;

TEST_CASE("a pod is parsed with its lifetime in seconds") {
  const auto pod = parse_pod(
      R"({"uid":"u","name":"web","node":"sim-00","cpu_request_cores":0.25,"memory_request_bytes":67108864,
          "demand_cores":0.2,"lifetime":30})");
  REQUIRE(pod);
  CHECK(pod->uid == "u");
  CHECK(pod->demand_cores == 0.2);
  CHECK(pod->lifetime_s == 30.0);
  CHECK_FALSE(parse_pod(R"({"uid":"u","node":"n","demand_cores":0})")->lifetime_s);
}

TEST_CASE("an invalid pod is refused with the name of the field") {
  for (const auto& [body, part] : std::vector<std::pair<std::string, std::string>>{
           {"nonsense", "object"},
           {"[]", "object"},
           {R"({"node":"n","demand_cores":1})", "uid"},
           {R"({"uid":"","node":"n","demand_cores":1})", "uid"},
           {R"({"uid":7,"node":"n","demand_cores":1})", "uid"},
           {R"({"uid":"u","demand_cores":1})", "node"},
           {R"({"uid":"u","node":"n"})", "demand_cores"},
           {R"({"uid":"u","node":"n","demand_cores":-1})", "demand_cores"},
           {R"({"uid":"u","node":"n","demand_cores":1e400})", "object"},
           {R"({"uid":"u","node":"n","demand_cores":"1"})", "demand_cores"},
           {R"({"uid":"u","node":"n","demand_cores":1,"lifetime":-3})", "lifetime"}}) {
    const auto pod = parse_pod(body);
    REQUIRE_FALSE(pod);
    CHECK(pod.error().message().find(part) != std::string::npos);
  }
}

TEST_CASE("a part is given as its number, from 1, and the total") {
  SwarmOptions options;
  REQUIRE(parse_part("2/3", options));
  CHECK(options.part == 2);
  CHECK(options.parts == 3);
  for (const char* wrong : {"", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2"}) {
    CAPTURE(wrong);
    CHECK(parse_part(wrong, options).error().code == Errc::malformed);
  }
}

TEST_CASE("the state of the sessions is reported with its units") {
  SwarmStatus status;
  status.nodes = 3;
  status.waiting = 7;
  status.oldest_s = 1.5;
  const auto reported = wattle::SortedJson::parse(status_json(status, {4, 0.1, 0.2, 0.3}));
  CHECK(reported["nodes"] == 3);
  CHECK(reported["records_waiting"] == 7);
  CHECK(reported["oldest_waiting_s"] == 1.5);
  CHECK(reported["acked"] == 4);
  CHECK(reported["ack_p99_s"] == 0.2);
}

TEST_CASE("the requests of a power driver turn a node off and on, and report its state") {
  FleetOptions options;
  options.sleep_speedup = 30;
  const MonoTime now = mono_from_ns(1'000'000'000);
  Fleet fleet(wattle::sim::synthetic_fleet(2, 3), options, now);
  const std::string& node = fleet.server(1).name;
  const auto post = [&](const std::string& request, double at_s) {
    const json body{{"request", request}, {"node", node}, {"depth", "off"}, {"operation", 7}, {"version", 1}};
    return answer_power(fleet, body.dump(), now + from_seconds(at_s));
  };
  const json able = json::parse(post("probe", 0).body);
  CHECK(able["depths"] == json::array({"off"}));
  CHECK(able["wake_time_s"].get<double>() == doctest::Approx(152.0 / 30));
  CHECK(able["asleep_power_w"] == ServerSwitch::off_w());
  CHECK(json::parse(post("observe", 1).body)["state"] == "on");
  CHECK(post("sleep", 2).status == 200);
  const json off = json::parse(post("observe", 3).body);
  CHECK(off["state"] == "off");
  CHECK(off["power_w"] == ServerSwitch::off_w());
  CHECK(post("wake", 4).status == 200);
  CHECK(json::parse(post("observe", 5).body) == json{{"state", "on"}});
  CHECK(fleet.runs(0));
  CHECK_FALSE(fleet.runs(1));
}

TEST_CASE("an invalid request of a power driver is refused and changes nothing") {
  FleetOptions options;
  options.sleep_speedup = 30;
  const MonoTime now = mono_from_ns(1'000'000'000);
  Fleet fleet(wattle::sim::synthetic_fleet(1, 3), options, now), fixed(wattle::sim::synthetic_fleet(1, 3), {}, now);
  const std::string node = fleet.server(0).name;
  CHECK(answer_power(fleet, "nonsense", now).status == 400);
  CHECK(answer_power(fleet, json{{"request", "sleep"}, {"node", "nosuch"}}.dump(), now).status == 404);
  CHECK(answer_power(fleet, json{{"request", "explode"}, {"node", node}}.dump(), now).status == 400);
  CHECK(answer_power(fleet, json{{"request", "sleep"}, {"node", node}, {"depth", "suspend"}}.dump(), now).status ==
        409);
  CHECK(answer_power(fixed, json{{"request", "sleep"}, {"node", node}, {"depth", "off"}}.dump(), now).status == 409);
  CHECK(fleet.runs(0));
  CHECK(fixed.runs(0));
}
