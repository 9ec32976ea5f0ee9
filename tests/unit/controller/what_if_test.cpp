// what_if: a decision repeated with other inputs, without side effects.
#include "controller/web/what_if.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "tests/unit/controller/live_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

using Given = std::map<std::string, std::string>;

struct WhatIfRig : LiveRig {
  Result<json> ask(const Given& given) {
    WATTLE_TRY(const std::string text, finished(what_if_text(parts(), given)));
    return json::parse(text)["what_if"];
  }
};

const json& candidate(const json& answer, const std::string& node) {
  for (const json& each : answer["candidates"])
    if (each["node"] == node) return each;
  FAIL("no candidate " << node);
  return answer;
}

}  // namespace

TEST_CASE("without its winner the next best node is advised, and the current answer is shown beside it") {
  WhatIfRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const auto reported = rig.ask({{"pod", "p1"}, {"without", "n1"}});
  REQUIRE_MESSAGE(reported, reported.error().message());
  CHECK((*reported)["decision"] == 1);
  CHECK((*reported)["without"] == json{"n1"});
  CHECK((*reported)["as_is"]["candidates"].size() == 2);
  CHECK((*reported)["otherwise"]["candidates"].size() == 1);
  CHECK((*reported)["otherwise"]["advice"] == "n2");
  CHECK(rig.ask({{"pod", "1"}, {"without", "n1,n2"}}).value()["otherwise"]["advice"].is_null());
}

TEST_CASE("a larger pod costs more where it fits, and fits no node when it is larger than any") {
  WhatIfRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const auto reported = rig.ask({{"pod", "p1"}, {"cpu", "4"}, {"memory", "2Gi"}});
  REQUIRE_MESSAGE(reported, reported.error().message());
  const json &as_is = (*reported)["as_is"], &otherwise = (*reported)["otherwise"];
  CHECK(otherwise["cpu_request_cores"] == 4.0);
  CHECK(otherwise["memory_request_bytes"] == 2147483648.0);
  CHECK(as_is["cpu_request_cores"] != otherwise["cpu_request_cores"]);
  CHECK(otherwise["demand_cores"].get<double>() > as_is["demand_cores"].get<double>());
  const auto huge = rig.ask({{"pod", "p1"}, {"cpu", "100000"}});
  REQUIRE(huge);
  CHECK((*huge)["otherwise"]["advice"].is_null());
  CHECK((*huge)["otherwise"]["masked"] == 2);
}

TEST_CASE("other weights change the values of nodes") {
  WhatIfRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const auto reported = rig.ask({{"pod", "p1"}, {"weight.energy", "3"}});
  REQUIRE_MESSAGE(reported, reported.error().message());
  const json &as_is = (*reported)["as_is"], &otherwise = (*reported)["otherwise"];
  CHECK(otherwise["reward"]["weights"]["energy"] == 3.0);
  CHECK(candidate(otherwise, "n1")["prior"].get<double>() < candidate(as_is, "n1")["prior"].get<double>());
  CHECK(candidate(otherwise, "n1")["marginal_w"] == candidate(as_is, "n1")["marginal_w"]);
}

TEST_CASE("a running pod is evaluated without its own load, so its node does not look fuller") {
  WhatIfRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const double before_w =
      rig.ask({{"pod", "p1"}, {"weight.energy", "1"}}).value()["as_is"]["candidates"][0]["marginal_w"].get<double>();
  wire::Ask large = ask_for("large", {"n1", "n2"});
  large.cpu_request_cores = 6;
  rig.decider->asks().ask(large);
  for (int i = 0; i < 3; ++i) rig.tick({"large"});
  REQUIRE(rig.state.pod("large")->node == "n1");
  // The pod itself requests six of the eight cores, so there is room for it.
  const auto reported = rig.ask({{"pod", "large"}, {"cpu", "7"}});
  REQUIRE_MESSAGE(reported, reported.error().message());
  CHECK(candidate((*reported)["otherwise"], "n1")["masked"].is_null());
  CHECK(before_w > 0);
}

TEST_CASE("a what-if leaves no trace in the log, the state, the figures or the next decision") {
  const auto next = [](bool asked) {
    WhatIfRig rig;
    rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
    rig.tick({"p1"});
    if (asked) {
      for (const Given& given : {Given{{"pod", "p1"}, {"without", "n1"}}, Given{{"pod", "p1"}, {"cpu", "5"}},
                                 Given{{"pod", "p1"}, {"reward", "ee"}}, Given{{"pod", "p1"}, {"weight.latency", "9"}}})
        REQUIRE(rig.ask(given));
    }
    CHECK(rig.decider->log().entries().size() == 1);
    CHECK(rig.decider->figures().decisions == 1);
    CHECK(rig.decider->figures().asks == 1);
    CHECK(rig.decider->spec().reward.preset == placement::Preset::weighted);
    rig.tick({"p1"});
    rig.decider->asks().ask(ask_for("p2", {"n1", "n2"}));
    json reported = rig.get("explain", {{"pod", "p2"}}).value()["decision"];
    reported.erase("decide_us");
    return reported;
  };
  CHECK(next(true) == next(false));
}

TEST_CASE("a wrong argument is reported by name") {
  WhatIfRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const auto refused = [&](const Given& given) { return rig.ask(given).error(); };
  CHECK(refused({{"pod", "nope"}, {"without", "n1"}}).code == Errc::not_found);
  CHECK(refused({{"without", "n1"}}).code == Errc::malformed);
  CHECK(refused({{"pod", "p1"}}).message().find("contains no change") != std::string::npos);
  CHECK(refused({{"pod", "p1"}, {"without", "n9"}}).message().find("node n9: it is not a candidate of decision 1") !=
        std::string::npos);
  CHECK(refused({{"pod", "p1"}, {"cpu", "-1"}}).message().find("argument cpu") != std::string::npos);
  CHECK(refused({{"pod", "p1"}, {"weight.watts", "1"}}).message().find("weight.watts") != std::string::npos);
  CHECK(refused({{"pod", "p1"}, {"weight.energy", "-1"}}).code == Errc::out_of_range);
  CHECK(refused({{"pod", "p1"}, {"policy", "planner"}}).message().find("argument policy: unknown") !=
        std::string::npos);
  CHECK(refused({{"pod", "p1"}, {"without", "n1"}, {"limit", "0"}}).code == Errc::malformed);
}

TEST_CASE("a decision from before the restart whose pod is gone cannot be evaluated") {
  WhatIfRig rig;
  LoggedDecision old;
  old.decision.id = 1;
  old.decision.pod_uid = "gone";
  old.decision.candidates.push_back({.node = "n1"});
  rig.decider->recall(old);
  const auto reported = rig.ask({{"pod", "gone"}, {"without", "n1"}});
  REQUIRE_FALSE(reported);
  CHECK(reported.error().message().find("decision 1: was made before the last restart and its pod has ended") !=
        std::string::npos);
}
