// Which candidate serves: the floor until measured evidence favours another, in every mode, over restarts and new
// networks.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/json/value.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

using placement::Candidate;

struct Silent final : models::QNetwork {
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  std::uint64_t step() const override { return 5; }
};

struct CandidateRig : DeciderRig {
  std::shared_ptr<const models::QNetwork> network = std::make_shared<Silent>();

  explicit CandidateRig(ModeSetting mode, bool measure = true) : DeciderRig(mode) {
    config.measure_candidates = measure;
    emplace();
    for (const char* node : {"n1", "n2"}) {
      std::array<double, placement::kCurvePoints> watts{};
      for (std::size_t k = 0; k < watts.size(); ++k)
        watts[k] = (node == std::string_view("n2") ? 4 : 1) * (50 + 20 * static_cast<double>(k));
      state.greet(hello_of(node));
      state.adopt_curve(node, placement::PowerCurve::known(watts));
    }
    networks.trust(network, {"trusted", "shipped:weighted", "weighted", "shipped:weighted", "it was better elsewhere"});
    second();
  }
  void emplace() {
    decider.emplace(
        config, state, networks, verdicts, clock, [](LearningNews) {}, 1);
  }
  void second() {
    clock.advance(1s);
    for (const char* node : {"n1", "n2"}) state.apply(node, record_at(seq + 1), clock.mono());
    ++seq;
    decider->expire();
  }
  std::string row() const {
    for (MonitorState& each : decider->monitor_states())
      if (each.name == kCandidatesRow) return std::move(each.text);
    return {};
  }
  // The rows that are kept once a network is in use.
  std::string row_with(Candidate in_use) const {
    CandidatesState kept = *parse_candidates(row());
    kept.state.arms.serving = static_cast<std::size_t>(in_use);
    kept.network = "shipped:weighted";
    return candidates_text(kept);
  }
  Status restore(const std::string& text) { return decider->restore({std::string(kCandidatesRow), text}); }
};

}  // namespace

TEST_CASE("the floor serves until measured blocks show that another candidate costs less, in every deciding mode") {
  for (const Mode mode : {Mode::shadow, Mode::live}) {
    CandidateRig rig(mode);
    CHECK(rig.decider->engine().trials().active() == (mode == Mode::live));
    const std::vector<Contender> all = rig.decider->networks().contenders();
    REQUIRE(all.size() == placement::kCandidates.size());
    CHECK(all[0].who == "the policy " + std::string(rig.decider->engine().trials().name(Candidate::floor)));
    CHECK(all[0].serves);
    const auto shipped =
        std::find_if(all.begin(), all.end(), [](const Contender& one) { return !one.certificate.empty(); });
    REQUIRE(shipped != all.end());
    CHECK(contender_text(*shipped).ends_with(": it was better elsewhere"));
    CHECK(rig.decider->engine().gated());
    CHECK(rig.decider->networks().epsilon() == 0);
    CHECK(rig.decider->networks().states().baseline ==
          (mode == Mode::live ? stats::NetworkState::on_trial : stats::NetworkState::candidate));
    rig.decider->asks().ask(ask_for("p", {"n1", "n2"}));
    CHECK(rig.decider->log().newest("p")->model.sha256.empty());
  }
}

TEST_CASE("a what-if under another reward is ranked by that reward, not by the floor") {
  CandidateRig rig(Mode::shadow);
  placement::PodSpec pod;
  pod.uid = "p";
  pod.request = {1, 1e9};
  placement::RewardConfig reward = rig.decider->spec().reward;
  const auto decided_by = [&] { return rig.decider->asks().what_if(pod, {"n1", "n2"}, reward).decision.decided_by; };
  CHECK(decided_by() == "rule");
  reward.weights.balance = 1;
  CHECK(decided_by() != "rule");
}

TEST_CASE("a network serves without a trial if candidates are not measured, or under a reward without energy") {
  CandidateRig rig(Mode::shadow, false);
  CHECK_FALSE(rig.decider->engine().gated());
  CHECK(rig.decider->networks().in_use().version.sha256 == "trusted");
  CHECK(rig.decider->networks().contenders().size() == 1);
  CHECK(contender_text(rig.decider->networks().contenders()[0]) ==
        "the network shipped:weighted is in use: it was better elsewhere");
  CandidateRig measured(Mode::live);
  CHECK(measured.decider->engine().gated());
  RolloutSpec by_users = measured.decider->spec();
  by_users.reward.weights.energy = 0;
  measured.decider->take(by_users);
  CHECK_FALSE(measured.decider->engine().gated());
  CHECK(measured.decider->engine().gated_why().empty());
}

TEST_CASE("evidence survives a restart and a change of mode, but not another network or another reward") {
  CandidateRig rig(Mode::shadow);
  const std::string kept = rig.row_with(Candidate::baseline);
  const std::uint64_t edition = rig.decider->edition();
  REQUIRE(rig.restore(kept));
  CHECK(rig.decider->edition() != edition);
  rig.second();
  CHECK_FALSE(rig.decider->engine().gated());
  CHECK(rig.row() == kept);
  RolloutSpec live = rig.decider->spec();
  live.mode = Mode::live;
  rig.decider->take(live);
  CHECK(rig.decider->engine().trials().in_use() == Candidate::baseline);
  // The restarted process resumes from its own checkpoint.
  rig.networks.trust(rig.network, {"trusted", "0000000007"});
  rig.emplace();
  REQUIRE(rig.restore(kept));
  rig.second();
  CHECK(rig.decider->engine().trials().in_use() == Candidate::baseline);
  rig.networks.trust(rig.network, {"other", "mine"});
  rig.second();
  CHECK(rig.decider->engine().gated());
  // Evidence about another reward does not apply.
  RolloutSpec other = rig.decider->spec();
  other.reward.weights.energy = 2;
  rig.decider->take(other);
  REQUIRE(rig.restore(kept));
  CHECK(rig.decider->engine().gated());
}

TEST_CASE("truncated or impossible evidence is refused, and changes nothing") {
  CandidateRig rig(Mode::shadow);
  const std::string kept = rig.row_with(Candidate::baseline);
  for (std::size_t length = 0; length + 2 < kept.size(); ++length) {
    const Status refused = rig.restore(kept.substr(0, length));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::malformed);
  }
  wattle::SortedJson wrong = wattle::SortedJson::parse(kept);
  wrong["in_use"] = 9;
  CHECK(rig.restore(wrong.dump()).error().message().find("contains an impossible state") != std::string::npos);
  CHECK(rig.decider->engine().gated());
}

TEST_CASE("a candidate's description has its measured difference") {
  Contender planner{"the policy planner", true, {}, {}, stats::NetworkState::in_use, {}};
  planner.measured = MeasuredDifference{"node-order", -0.031, -0.044, -0.018, 22, {}};
  CHECK(contender_text(planner) ==
        "the policy planner is in use: 3.1% less energy per unit of work than node-order [-4.4, -1.8], measured in 22 "
        "groups of blocks");
}
