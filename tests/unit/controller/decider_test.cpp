#include "controller/decisions/decider.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "common/json/value.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/controller/live_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

TEST_CASE("live answers with real scores, shadow with zeros and a decision, off with neither") {
  LiveRig live;
  const auto answer = live.decider->asks().ask(ask_for("p1", {"n1", "n2", "ghost"}));
  CHECK(!answer.neutral);
  CHECK(std::max(answer.scores[0], answer.scores[1]) == 10);
  CHECK(answer.scores[2] == 0);
  CHECK(answer.decision_id == 1);
  LiveRig shadow(Mode::shadow);
  const auto quiet = shadow.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  CHECK(quiet.neutral);
  CHECK(quiet.scores == std::vector<std::int64_t>{0, 0});
  CHECK(!shadow.decider->log().newest("p1")->decision.advice.empty());
  CHECK(shadow.state.node_view("n1")->in_flight + shadow.state.node_view("n2")->in_flight == 0);
  LiveRig off(Mode::off);
  CHECK(off.decider->asks().ask(ask_for("p1", {"n1"})).decision_id == 0);
  CHECK(off.decider->log().entries().empty());
}

TEST_CASE("an ask without candidates gets a neutral answer and no decision") {
  LiveRig rig;
  const auto answer = rig.decider->asks().ask(ask_for("p1", {}));
  CHECK(answer.neutral);
  CHECK(answer.scores.empty());
  CHECK(answer.decision_id == 0);
}

TEST_CASE("the same pod and candidates within 2 s get the same answer, in the order asked") {
  LiveRig rig;
  const auto first = rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  auto turned = rig.decider->asks().ask(ask_for("p1", {"n2", "n1"}));
  CHECK(turned.decision_id == first.decision_id);
  std::reverse(turned.scores.begin(), turned.scores.end());
  CHECK(turned.scores == first.scores);
  CHECK(rig.decider->asks().ask(ask_for("p1", {"n1"})).decision_id == 2);
  rig.clock.advance(3s);
  CHECK(rig.decider->asks().ask(ask_for("p1", {"n1", "n2"})).decision_id == 3);
}

TEST_CASE("advised pods count as in flight until they are seen, and a burst spreads over nodes") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  const auto flying = [&] { return rig.state.node_view("n1")->in_flight + rig.state.node_view("n2")->in_flight; };
  CHECK(flying() == 1);
  rig.decider->placements().placed("p1", "n1", false);
  CHECK(flying() == 0);
}

TEST_CASE("a placement and its outcome reach the decision and the learner") {
  LiveRig rig;
  const auto answer = rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.tick({"p1"});  // the record shows the pod, which is its placement
  REQUIRE(rig.news.size() == 1);
  const auto& placed = std::get<PlacedNews>(rig.news[0]);
  CHECK(placed.decision_id == answer.decision_id);
  CHECK(placed.observation.nodes == 2);
  for (int i = 0; i < 4; ++i) rig.tick({"p1"});
  REQUIRE(rig.news.size() == 2);
  CHECK(std::get<SettledNews>(rig.news[1]).outcome.before.workers == 2);
  const LoggedDecision& entry = *rig.decider->log().newest("default/p1-name");
  CHECK(entry.decision.placed_on == "n1");
  REQUIRE(entry.decision.outcome);
  CHECK(entry.decision.outcome->terms.contains("marginal_w"));
  CHECK(rig.decider->figures().outcomes == 1);
  CHECK(!rig.decider->log().take_changed().empty());
  CHECK(rig.decider->log().take_changed().empty());
}

TEST_CASE("outcomes are numbered; under drs the default window is five seconds") {
  LiveRig rig;
  rig.config.settle_window.reset();
  CHECK(settle_window(rig.config, placement::Preset::weighted) == 10s);
  CHECK(settle_window(rig.config, placement::Preset::drs) == 5s);
  RolloutSpec spec = configured_spec(rig.config);
  spec.reward.preset = placement::Preset::drs;
  rig.decider->take(spec);
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.tick({"p1"});
  rig.decider->asks().ask(ask_for("p2", {"n1", "n2"}));
  const auto settled = [&] {
    std::vector<std::uint64_t> numbers;
    for (const LearningNews& news : rig.news)
      if (const auto* each = std::get_if<SettledNews>(&news)) numbers.push_back(each->outcome.placement);
    return numbers;
  };
  rig.tick({"p1", "p2"});
  for (int i = 0; i < 3; ++i) rig.tick({"p1", "p2"});
  CHECK(settled().empty());
  rig.tick({"p1", "p2"});
  CHECK(settled() == std::vector<std::uint64_t>{0});
  rig.tick({"p1", "p2"});
  CHECK(settled() == std::vector<std::uint64_t>{0, 1});
  rig.config.settle_window = 2s;
  CHECK(settle_window(rig.config, placement::Preset::drs) == 2s);
}

TEST_CASE("usage is learned by application and predicted for its next pod; time at rest counts") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  for (int i = 0; i < 10; ++i) rig.tick({"p1"});
  CHECK(rig.decider->engine().cluster_model().pods().size() == 1);
  // Thin records omit workloads at rest: five seconds of 0.8 cores, then no reports.
  for (int i = 0; i < 10; ++i) {
    rig.clock.advance(1s);
    Record record = record_at(++rig.seq);
    record.partial = true;
    const RecordNews reported = rig.state.apply("n1", record, rig.clock.mono());
    rig.decider->outcomes().record("n1", record, reported);
    rig.decider->expire();
  }
  rig.decider->placements().gone("p1", "n1");
  CHECK(rig.decider->engine().cluster_model().pods().size() == 0);
  CHECK(rig.decider->engine().cluster_model().demand().apps() == 1);
  // Half of 20 s at 0.8 cores; a pod of 20 s weighs little against the prior of half the request.
  placement::PodSpec next;
  next.pod_namespace = "default";
  next.app = "ReplicaSet/web nginx";
  next.request = {1, 0};
  const auto predicted = rig.decider->engine().cluster_model().predict(next);
  CHECK(predicted.seen_pods == doctest::Approx(20.0 / placement::DemandOptions{}.full_weight_s));
  CHECK(predicted.cores < 0.5);
  CHECK(predicted.cores > 0.49);
  // Saves and restores the model, with the curve of a node that returns.
  placement::ClusterModel again;
  REQUIRE(again.restore(rig.decider->engine().cluster_model().save(rig.state.view({}, rig.clock.mono()))).has_value());
  CHECK(again.predict(next).cores == predicted.cores);
  ClusterState state{30s};
  Decider restarted(
      rig.config, state, rig.networks, rig.verdicts, rig.clock, [](LearningNews) {}, 1, std::move(again));
  state.greet(hello_of("n1"));
  restarted.placements().greeted(hello_of("n1"));
  CHECK(state.node_view("n1")->curve.points() == rig.state.node_view("n1")->curve.points());
  CHECK(state.node_view("n1")->curve.samples() == rig.state.node_view("n1")->curve.samples());
}

TEST_CASE("every policy can be set at run time; it makes the next decision, and the advised node leads its record") {
  int pod = 0;
  for (const placement::PolicyInfo& info : placement::policies()) {
    CAPTURE(info.name);
    LiveRig rig;  // a new rig for each policy, because their starts would exceed the start cap of two nodes
    RolloutSpec spec = rig.decider->spec();
    spec.policy = info.name;
    rig.decider->take(spec);
    const std::string uid = "p" + std::to_string(++pod);
    const auto answer = rig.decider->asks().ask(ask_for(uid, {"n1", "n2"}));
    CHECK(answer.policy == info.name);
    const LoggedDecision& entry = *rig.decider->log().newest(uid);
    CHECK(entry.decision.policy == info.name);
    if (answer.neutral) {  // both nodes have the same pods, requests and usage
      CHECK(entry.decision.decided_by == "neutral");
      CHECK(answer.reason.starts_with("neutral: all 2 feasible nodes"));
      CHECK(answer.scores == std::vector<std::int64_t>{0, 0});
      CHECK(info.name != "dqn");
      continue;
    }
    CHECK(std::max(answer.scores[0], answer.scores[1]) == 10);
    CHECK(entry.winner == entry.decision.advice);
    CHECK(entry.runner_up == (entry.winner == "n1" ? "n2" : "n1"));
    CHECK(rig.decider->spec().policy == info.name);
  }
}

TEST_CASE("a canary gives scores in treated blocks only, and records the arm of each decision") {
  LiveRig rig({Mode::canary, 0.5});
  RolloutSpec spec = rig.decider->spec();
  spec.schedule.began = rig.clock.wall();
  rig.decider->take(spec);
  int treated = 0;
  for (int pod = 0; pod < 40; ++pod) {
    const std::string uid = "p" + std::to_string(pod);
    const auto answer = rig.decider->asks().ask(ask_for(uid, {"n1", "n2"}));
    const bool acts = block_at(spec.schedule, rig.clock.wall()).treated;
    CHECK(answer.neutral != acts);
    CHECK(answer.mode == "canary");
    CHECK((std::max(answer.scores[0], answer.scores[1]) == 10) == acts);
    const wire::Decision& decision = rig.decider->log().newest(uid)->decision;
    CHECK(decision.mode == (acts ? "canary, treated" : "canary, control"));
    CHECK(!decision.advice.empty());
    CHECK(rig.state.pod(uid)->in_flight_to.empty() != acts);
    rig.state.pods().drop_expected(uid);
    treated += acts ? 1 : 0;
    rig.clock.advance(30min);
    rig.seq += 1800;  // the nodes' clocks advance equally
    for (const char* node : {"n1", "n2"}) rig.state.apply(node, record_at(rig.seq), rig.clock.mono());
  }
  CHECK(treated == 20);
}

TEST_CASE("the mean reward is of the reward in force; another preset or other weights reset it") {
  LiveRig rig;
  CHECK_FALSE(rig.decider->asks().ask(ask_for("p1", {"n1", "n2"})).neutral);
  for (int i = 0; i < 6; ++i) rig.tick({"p1"});
  REQUIRE(rig.decider->figures().mean_reward());
  RolloutSpec spec = rig.decider->spec();
  spec.mode = Mode::shadow;
  rig.decider->take(spec);
  CHECK(rig.decider->figures().mean_reward());  // the same reward
  SUBCASE("preset") { spec.reward.preset = placement::Preset::lb; }
  SUBCASE("weights") { spec.reward.weights.energy += 1; }
  rig.decider->take(spec);
  CHECK_FALSE(rig.decider->figures().mean_reward());
  CHECK(rig.decider->log().newest("p1")->reward_preset == "weighted");  // the preset in force at the decision
}

TEST_CASE("outcomes count for the arm of their decision, and an answer that must not act is neutral at once") {
  class NanNetwork final : public models::QNetwork {
   public:
    void residual(const models::Observation&, std::span<float> out) const override {
      for (float& value : out) value = std::numeric_limits<float>::quiet_NaN();
    }
    std::uint64_t step() const override { return 7; }
  };
  LiveRig rig;
  std::vector<double> residuals;
  rig.verdicts.verdict = [&](const ArmNow& arm, double residual) {
    CHECK(arm.arm == Arm::live);
    residuals.push_back(residual);
    if (std::isfinite(residual)) return true;
    RolloutSpec shadow = rig.decider->spec();
    shadow.mode = Mode::shadow;
    rig.decider->take(shadow);
    return false;
  };
  CHECK_FALSE(rig.decider->asks().ask(ask_for("p1", {"n1", "n2"})).neutral);
  for (int i = 0; i < 6; ++i) rig.tick({"p1"});
  const std::vector<Judged> judged = rig.decider->outcomes().take_judged();
  REQUIRE(judged.size() == 1);
  CHECK(judged[0].arm.arm == Arm::live);
  CHECK(judged[0].reward == rig.decider->log().newest("p1")->decision.outcome->reward);
  CHECK(rig.decider->figures().mean_reward() == judged[0].reward);
  CHECK(rig.decider->outcomes().take_judged().empty());
  CHECK(rig.decider->log().newest("p1")->reward_preset == "weighted");
  rig.networks.set(std::make_shared<NanNetwork>());
  const auto answer = rig.decider->asks().ask(ask_for("p2", {"n1", "n2"}));
  CHECK(answer.neutral);
  CHECK(answer.scores == std::vector<std::int64_t>{0, 0});
  CHECK(answer.mode == "shadow");
  CHECK(answer.reason == "not applied: the network's output is invalid");
  REQUIRE(residuals.size() == 2);
  CHECK(std::isinf(residuals[1]));
  CHECK(rig.state.pod("p2")->in_flight_to.empty());
}

TEST_CASE("a pod without an ask is counted and not learned from") {
  LiveRig rig;
  rig.tick({"stranger"});
  CHECK(rig.decider->figures().placements_unasked == 1);
  CHECK(rig.news.empty());
}

TEST_CASE("a request larger than any machine fits no node, and all numbers stay finite") {
  LiveRig rig;
  wire::Ask ask = ask_for("p1", {"n1", "n2"});
  ask.cpu_request_cores = ask.memory_request_bytes = 1e308;
  CHECK(rig.decider->asks().ask(ask).neutral);
  rig.decider->placements().placed("p1", "n1", true);
  CHECK(std::isfinite(rig.state.node_view("n1")->requested.cpu_cores));
  for (const wire::Candidate& candidate : rig.decider->log().newest("p1")->decision.candidates)
    CHECK(std::isfinite(candidate.marginal_w));
}

TEST_CASE("a pod that appears elsewhere keeps its request, and its old window ends") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.tick({"p1"});
  rig.tick({"p1"});
  CHECK(rig.decider->placements().placed("p1", "n2", false));
  CHECK(rig.state.node_view("n1")->pods == 0);
  CHECK(rig.state.node_view("n2")->requested.cpu_cores == doctest::Approx(1));
  rig.decider->expire();
  CHECK(rig.decider->figures().outcomes == 1);  // only measurements from before it moved
}

TEST_CASE("a placement without a UID or on an unknown node is ignored") {
  LiveRig rig;
  CHECK(!rig.decider->placements().placed("", "n1", true));
  CHECK(!rig.decider->placements().placed("p1", "ghost", true));
  CHECK(rig.state.pods().all().empty());
}

TEST_CASE("only the newest decision of a pod becomes its placement") {
  LiveRig rig;
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.clock.advance(3s);
  const auto second = rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.tick({"p1"});
  REQUIRE(rig.news.size() == 1);
  CHECK(std::get<PlacedNews>(rig.news[0]).decision_id == second.decision_id);
}

TEST_CASE("fewer decisions are kept if each has many candidates") {
  DecisionLog log(100, 1);
  for (std::uint64_t id = 1; id <= 6; ++id) {
    LoggedDecision entry;
    entry.decision.id = id;
    entry.decision.candidates.resize(DecisionLog::kMaxCandidates / 4);
    log.add(std::move(entry));
  }
  CHECK(log.entries().size() == 4);
  CHECK(log.find(2) == nullptr);
  CHECK(log.find(6) != nullptr);
}
