// The decider's use of outcomes: lives that rewards are computed with, errors of predictions, and the network gates.
#include <doctest/doctest.h>

#include <algorithm>
#include <span>

#include "common/json/value.hpp"
#include "controller/web/documents.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

struct LearnedRig : DeciderRig {
  std::uint64_t pods = 0;

  explicit LearnedRig(ModeSetting mode = Mode::live, placement::DecideOptions decide = {}) : DeciderRig(mode, decide) {
    begin();
  }
  void tick(const std::vector<std::string>& running) {
    DeciderRig::tick(running);
    decider->expire();
  }
  // A pod is asked for, runs on n1 for `seconds`, and goes.
  void run_pod(int seconds) {
    const std::string uid = "pod-" + std::to_string(++pods);
    decider->asks().ask(ask_for(uid, {"n1", "n2"}));
    for (int i = 0; i < seconds; ++i) tick({uid});
    decider->placements().gone(uid, "n1");
    tick({});
  }
  std::optional<placement::RawOutcome> last_outcome() const {
    std::optional<placement::RawOutcome> last;
    for (const LearningNews& item : news)
      if (const auto* settled = std::get_if<SettledNews>(&item)) last = settled->outcome;
    return last;
  }
};

}  // namespace

TEST_CASE("an outcome is reckoned with the life of pods of its application, which the prior is reckoned with too") {
  LearnedRig rig;
  rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  CHECK(rig.last_outcome()->expected_life_s == 3600);  // nothing was known
  for (int i = 0; i < 40; ++i) rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  placement::PodSpec pod;
  pod.pod_namespace = "default";
  pod.app = "ReplicaSet/web nginx";
  pod.request = {1, 64 << 20};
  const double life_s = rig.decider->cluster_model().predict(pod).life_s;
  CHECK(life_s < 1800);
  CHECK(rig.last_outcome()->expected_life_s == doctest::Approx(life_s).epsilon(0.1));
  // Short lives are worth little: the prior's energy shrinks with them.
  rig.decider->asks().ask(ask_for("known", {"n1", "n2"}));
  const auto* known = rig.decider->log().newest("known");
  REQUIRE(known != nullptr);
  REQUIRE(known->features.has_value());
  CHECK(known->features->pod[14] > 0);  // life
}

TEST_CASE("after twenty outcomes a decision tells how far rewards were from the prediction, and not before") {
  LearnedRig rig;
  for (int i = 0; i < 9; ++i) rig.run_pod(5);
  rig.decider->asks().ask(ask_for("early", {"n1", "n2"}));
  CHECK_FALSE(rig.decider->log().newest("early")->winner_terms->uncertainty.has_value());
  for (int i = 0; i < 15; ++i) rig.run_pod(5);
  REQUIRE(rig.decider->figures().outcomes >= 20);
  rig.decider->asks().ask(ask_for("late", {"n1", "n2"}));
  const LoggedDecision* late = rig.decider->log().newest("late");
  REQUIRE(late->winner_terms);
  REQUIRE(late->winner_terms->uncertainty.has_value());
  CHECK(*late->winner_terms->uncertainty >= 0);
  // Another reward is another prediction.
  RolloutSpec other = rig.decider->spec();
  other.reward.weights.energy = 3;
  rig.decider->take(other);
  rig.decider->asks().ask(ask_for("other", {"n1", "n2"}));
  CHECK_FALSE(rig.decider->log().newest("other")->winner_terms->uncertainty.has_value());
}

TEST_CASE("a policy that another kind of network learns for goes by the predicted reward") {
  LearnedRig rig;
  RolloutSpec other = rig.decider->spec();
  other.policy = "tabular-q";
  rig.decider->take(other);
  const auto answer = rig.decider->asks().ask(ask_for("p", {"n1", "n2"}));
  CHECK(answer.reason == "highest predicted reward: no network is in use yet");
  CHECK(answer.policy == "tabular-q");
}

TEST_CASE("a network that wants the dearest nodes is left out for the plan's choice, which every decision then says") {
  struct Opposite final : models::QNetwork {
    void residual(const models::Observation& seen, std::span<float> out) const override {
      for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = 10 * seen.node[i * models::kNodeFeatures + 17];
    }
    std::uint64_t step() const override { return 5; }
  };
  LearnedRig rig(Mode::shadow, {.mask = {.start_cap = {.least = 100}}});  // one node takes a pod each second
  std::vector<std::string> reported;
  rig.decider->on_event([&](const MonitorEvent& event) {
    const Guardrail& rule = guardrail_of(event);
    reported.push_back(std::string(rule.who) + ": " + std::string(rule.what) + ": " + event.evidence);
  });
  const std::vector<std::string> nodes{"dear", "cheap"};
  for (const std::string& name : nodes) {
    std::array<double, placement::kCurvePoints> watts{};
    for (std::size_t k = 0; k < watts.size(); ++k)
      watts[k] = (name == "dear" ? 4 : 1) * (50 + 20 * static_cast<double>(k));
    rig.state.greet(hello_of(name));
    rig.state.adopt_curve(name, placement::PowerCurve::known(watts));
  }
  const auto tick = [&] {
    for (const std::string& name : nodes) rig.state.apply(name, record_at(rig.seq + 1), rig.clock.mono());
    rig.tick({});
  };
  tick();
  rig.networks.set(std::make_shared<Opposite>(), {"digest", ""});
  rig.decider->asks().ask(ask_for("before", nodes));
  CHECK(rig.decider->log().newest("before")->decision.advice == "dear");
  for (int i = 0; i < 3000 && rig.decider->network_gate().in_use(); ++i) {
    wire::Ask small = ask_for("p" + std::to_string(i), nodes);
    small.cpu_request_cores = 0.1;
    small.memory_request_bytes = 1e6;
    rig.decider->asks().ask(small);
    tick();
    // As advised, and for a minute.
    rig.decider->placements().placed("p" + std::to_string(i), "dear", false);
    if (i >= 60) rig.decider->placements().gone("p" + std::to_string(i - 60), "dear");
  }
  REQUIRE_FALSE(rig.decider->network_gate().in_use());
  REQUIRE(reported.size() == 1);
  CHECK(reported[0].starts_with("guard: the network is withdrawn; the planner is in use: "));
  rig.decider->asks().ask(ask_for("after", nodes));
  const LoggedDecision* after = rig.decider->log().newest("after");
  CHECK(after->decision.advice == "cheap");
  CHECK(after->decision.reason.find("the network is withdrawn") != std::string::npos);
  CHECK(after->decision.model_step == 0);
  CHECK(after->model.sha256.empty());
  CHECK(rig.decider->epsilon() == 0);
  // A restart does not let it back: the next process reads what this one kept.
  const auto row_of = [](const Decider& decider) {
    for (MonitorState& state : decider.monitor_states())
      if (state.name == kNetworkGateRow) return std::move(state.text);
    return std::string();
  };
  const auto restore = [](Decider& decider, const std::string& text) {
    return decider.restore({std::string(kNetworkGateRow), text});
  };
  const std::string kept = row_of(*rig.decider);
  Decider next(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  REQUIRE(restore(next, kept));
  CHECK_FALSE(next.network_gate().in_use());
  CHECK(next.network_gated_why() == rig.decider->network_gated_why());
  CHECK(next.network_gate().blocks() == rig.decider->network_gate().blocks());
  next.asks().ask(ask_for("restarted", nodes));
  CHECK(next.log().newest("restarted")->decision.advice == "cheap");
  CHECK(row_of(next) == kept);
  // Nor does it when decisions are compared again: the network is the checkpoint of its own that the restart went on from.
  rig.networks.set(std::make_shared<Opposite>(), {"digest", "0000000007"});
  next.asks().ask(ask_for("compared", nodes));
  rig.clock.advance(1s);
  next.expire();
  CHECK_FALSE(next.network_gate().in_use());
  CHECK(next.network_gate().blocks() >= rig.decider->network_gate().blocks());
  rig.networks.set(std::make_shared<Opposite>(), {"digest", ""});
  // Of another reward it says nothing.
  Decider changed(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  RolloutSpec spec = changed.spec();
  spec.reward.weights.energy = 2;
  changed.take(spec);
  REQUIRE(restore(changed, kept));
  CHECK(changed.network_gate().in_use());
  // Where a network must prove itself first it is not heard from the start; of a reward that the gate does not know it is.
  ControllerConfig strict = rig.config;
  strict.require_evidence = true;
  Decider unproven(
      strict, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  CHECK(unproven.network_gated());
  CHECK(unproven.network_gated_why().find("has not yet been shown") != std::string::npos);
  CHECK(unproven.epsilon() == 0);
  unproven.asks().ask(ask_for("unproven", nodes));
  CHECK(unproven.log().newest("unproven")->decision.advice == "cheap");
  CHECK(unproven.log().newest("unproven")->decision.reason == unproven.network_gated_why());
  RolloutSpec by_users = unproven.spec();
  by_users.reward.weights.energy = 0;
  unproven.take(by_users);
  CHECK_FALSE(unproven.network_gated());
  CHECK(unproven.network_gated_why().empty());
  // What is cut off or damaged is refused, and changes nothing.
  for (std::size_t length = 0; length + 2 < kept.size(); ++length) {
    const auto refused = restore(changed, kept.substr(0, length));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::malformed);
  }
  wattle::SortedJson wrong = wattle::SortedJson::parse(kept);
  wrong["evidence"] = 1e9;
  CHECK(restore(changed, wrong.dump()).error().message().find("contains an impossible state") != std::string::npos);
  CHECK(changed.network_gate().in_use());
  // Another network begins another test.
  rig.networks.set(std::make_shared<Opposite>(), {"other", "promoted"});
  rig.decider->asks().ask(ask_for("loaded", nodes));
  tick();
  CHECK(rig.decider->network_gate().in_use());
  CHECK(reported.back() == "guard: the network is in use: network promoted was loaded");
}

TEST_CASE("the guard is not told of what was explored, for it would be blamed on the ranking") {
  LearnedRig rig(Mode::live, {.epsilon = 1, .safe_margin = 1e9});
  std::size_t judged = 0;
  rig.decider->on_verdict([](const ArmNow&, double) { return true; }, [&](const ArmNow&, double) { ++judged; });
  std::size_t explored = 0, outcomes = 0;
  for (int i = 0; i < 30; ++i) {
    rig.run_pod(5);
    const LoggedDecision* made = rig.decider->log().newest("pod-" + std::to_string(i + 1));
    REQUIRE(made != nullptr);
    if (made->decision.outcome) ++outcomes;
    if (made->decision.outcome && made->decision.explored) ++explored;
  }
  REQUIRE(outcomes > 0);
  REQUIRE(explored > 0);
  CHECK(judged == outcomes - explored);
}

TEST_CASE("the uncertainty of a prediction is what rewards were away from it, a node's own once it has enough") {
  PredictionError errors;
  for (int i = 0; i < 19; ++i) errors.add("a", i % 2 == 0 ? 1.0 : -1.0);
  CHECK_FALSE(errors.of("b").has_value());
  CHECK(errors.of("a").value() == doctest::Approx(1.0).epsilon(0.05));
  errors.add("c", 1);
  CHECK(errors.of("b").value() == doctest::Approx(1.0).epsilon(0.05));
  for (int i = 0; i < 10; ++i) errors.add("b", 3);
  CHECK(errors.of("b").value() == doctest::Approx(0));
  errors.add("b", std::nan(""));
  CHECK(errors.of("b").value() == doctest::Approx(0));
  errors.clear();
  CHECK_FALSE(errors.of("a").has_value());
}
