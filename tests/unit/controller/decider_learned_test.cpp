// Outcomes in the decider: the expected lifetimes that rewards use, and prediction errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <span>

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
  // Asks for a pod, runs it on n1 for `seconds`, and ends it.
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

TEST_CASE("rewards and the prior use the expected lifetime of pods of the same application") {
  LearnedRig rig;
  rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  CHECK(rig.last_outcome()->expected_life_s == 3600);  // no lifetimes are known yet
  for (int i = 0; i < 40; ++i) rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  placement::PodSpec pod;
  pod.pod_namespace = "default";
  pod.app = "ReplicaSet/web nginx";
  pod.request = {1, 64 << 20};
  const double life_s = rig.decider->engine().cluster_model().predict(pod).life_s;
  CHECK(life_s < 1800);
  CHECK(rig.last_outcome()->expected_life_s == doctest::Approx(life_s).epsilon(0.1));
  // A short lifetime shrinks the prior's energy.
  rig.decider->asks().ask(ask_for("known", {"n1", "n2"}));
  const auto* known = rig.decider->log().newest("known");
  REQUIRE(known != nullptr);
  REQUIRE(known->features.has_value());
  CHECK(known->features->pod[14] > 0);  // lifetime
}

TEST_CASE("from the twentieth outcome on, a decision reports the prediction error of rewards") {
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
  // Another reward resets the prediction error.
  RolloutSpec other = rig.decider->spec();
  other.reward.weights.energy = 3;
  rig.decider->take(other);
  rig.decider->asks().ask(ask_for("other", {"n1", "n2"}));
  CHECK_FALSE(rig.decider->log().newest("other")->winner_terms->uncertainty.has_value());
}

TEST_CASE("without a network in use, a policy of another kind of network uses the predicted reward") {
  LearnedRig rig;
  RolloutSpec other = rig.decider->spec();
  other.policy = "tabular-q";
  rig.decider->take(other);
  const auto answer = rig.decider->asks().ask(ask_for("p", {"n1", "n2"}));
  CHECK(answer.reason == "highest predicted reward: no network is in use yet");
  CHECK(answer.policy == "tabular-q");
}

TEST_CASE("the guard does not see exploratory placements, because it would blame the ranking") {
  LearnedRig rig(Mode::live, {.epsilon = 1, .safe_margin = 1e9});
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
  CHECK(rig.decider->outcomes().take_judged().size() == outcomes - explored);
}

TEST_CASE("the uncertainty of a prediction is its mean error, per node once the node has enough outcomes") {
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
