// What the decider makes of what became of pods: lives that rewards are reckoned with, how far Q was off, what rivals would do.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "controller/decisions/decider.hpp"
#include "controller/web/documents.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

struct Rig {
  ControllerConfig config;
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  ClusterState state{30s};
  NetworkSlot networks;
  std::vector<LearningNews> news;
  std::optional<Decider> decider;
  std::uint64_t seq = 0, pods = 0;

  explicit Rig(ModeSetting mode = Mode::live) {
    config.mode = mode;
    config.settle_window = 3s;
    config.decide.epsilon = 0;
    decider.emplace(
        config, state, networks, clock, [this](LearningNews item) { news.push_back(std::move(item)); }, 1);
    state.greet(hello_of("n1"));
    state.greet(hello_of("n2"));
    tick({});
  }
  void tick(const std::vector<std::string>& running) {
    clock.advance(1s);
    ++seq;
    Record record = record_at(seq);
    for (const std::string& uid : running) record.workloads.push_back(pod_values(uid, 800'000));
    const RecordNews told = state.apply("n1", record, clock.mono());
    for (const std::string& uid : told.appeared) decider->placed(uid, "n1", false);
    decider->record("n1", record, told);
    state.apply("n2", record_at(seq), clock.mono());
    decider->expire();
  }
  // A pod is asked for, runs on n1 for `seconds`, and goes.
  void run_pod(int seconds) {
    const std::string uid = "pod-" + std::to_string(++pods);
    decider->ask(ask_for(uid, {"n1", "n2"}));
    for (int i = 0; i < seconds; ++i) tick({uid});
    decider->gone(uid, "n1");
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
  Rig rig;
  rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  CHECK(rig.last_outcome()->expected_life_s == 3600);  // nothing was known
  for (int i = 0; i < 40; ++i) rig.run_pod(5);
  REQUIRE(rig.last_outcome());
  const double life_s = rig.decider->knowledge().predict({"", "", "", "ReplicaSet/web nginx", {1, 64 << 20}}).life_s;
  CHECK(life_s < 1800);
  CHECK(rig.last_outcome()->expected_life_s == doctest::Approx(life_s).epsilon(0.1));
  // Short lives are worth little: the prior's energy shrinks with them.
  rig.decider->ask(ask_for("known", {"n1", "n2"}));
  const auto* known = rig.decider->log().newest("known");
  REQUIRE(known != nullptr);
  REQUIRE(known->features.has_value());
  CHECK(known->features->pod[14] > 0);  // life
}

TEST_CASE("after twenty outcomes a decision tells how far rewards were from Q, and not before") {
  Rig rig;
  for (int i = 0; i < 9; ++i) rig.run_pod(5);
  rig.decider->ask(ask_for("early", {"n1", "n2"}));
  CHECK_FALSE(rig.decider->log().newest("early")->winner_terms->uncertainty.has_value());
  for (int i = 0; i < 15; ++i) rig.run_pod(5);
  REQUIRE(rig.decider->figures().outcomes >= 20);
  rig.decider->ask(ask_for("late", {"n1", "n2"}));
  const LoggedDecision* late = rig.decider->log().newest("late");
  REQUIRE(late->winner_terms);
  REQUIRE(late->winner_terms->uncertainty.has_value());
  CHECK(*late->winner_terms->uncertainty >= 0);
  // Another reward is another Q.
  Standing other = rig.decider->standing();
  other.reward.weights.energy = 3;
  rig.decider->take(other);
  rig.decider->ask(ask_for("other", {"n1", "n2"}));
  CHECK_FALSE(rig.decider->log().newest("other")->winner_terms->uncertainty.has_value());
}

TEST_CASE(
    "once a second a decision is compared with planner and amortised rank, and an untrained network is the latter") {
  Rig rig(Mode::shadow);
  for (int i = 0; i < 40; ++i) {
    rig.decider->ask(ask_for("p" + std::to_string(i), {"n1", "n2"}));
    rig.decider->ask(ask_for("q" + std::to_string(i), {"n1", "n2"}));  // not both of a second
    for (int second = 0; second < 3; ++second) rig.tick({});
  }
  const auto estimates = rig.decider->rivals().estimates();
  CHECK(estimates[0].rival == "planner");
  CHECK(estimates[1].samples == 40);
  CHECK(estimates[1].difference == doctest::Approx(0));  // among equals a node is drawn
  CHECK(rig.decider->rivals().harm().empty());
  Standing other = rig.decider->standing();
  other.policy = "most-allocated";
  rig.decider->take(other);
  CHECK(rig.decider->rivals().estimates()[0].samples == 0);
}

TEST_CASE("a policy that another kind of network learns for goes by the predicted reward") {
  Rig rig;
  Standing other = rig.decider->standing();
  other.policy = "tabular-q";
  rig.decider->take(other);
  const auto answer = rig.decider->ask(ask_for("p", {"n1", "n2"}));
  CHECK(answer.reason == "highest predicted reward: no network serves yet");
  CHECK(answer.policy == "tabular-q");
}
