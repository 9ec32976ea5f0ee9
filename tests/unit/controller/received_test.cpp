// Which side serves: the plan, the network that learning began with, or the one learned here since.
#include <doctest/doctest.h>

#include "tests/unit/controller/network_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

TEST_CASE("a network with a certificate is heard when thirty compared decisions have cost no more, and says why") {
  NetworkRig rig(0, "regret -0.016 [-0.025, -0.009] W0 a placement", 0);
  rig.pod();
  CHECK(rig.decider->network_gated());
  CHECK(rig.text(0).starts_with(
      "the plan is in use: the network is on trial and is used once thirty compared decisions"));
  CHECK(rig.text(1).starts_with("the network shipped:weighted is on trial: regret -0.016"));
  int pods = 1;
  for (; pods < 100 && rig.decider->network_gated(); ++pods) rig.pod();
  CHECK(pods >= 30);
  CHECK(pods <= 35);
  CHECK_FALSE(rig.decider->network_gated());
  CHECK(rig.reported.back().find("regret -0.016") != std::string::npos);
  CHECK(rig.decider->in_use().version.sha256 == "trusted");
  CHECK_FALSE(rig.decider->in_use().learned);
  CHECK(rig.text(0).starts_with("the network shipped:weighted is in use: regret -0.016"));
  const std::vector<Contender> all = rig.decider->contenders();
  REQUIRE(all.size() == 3);
  CHECK(all[0].serves);
  REQUIRE(all[0].compared.size() == 1);
  CHECK(all[0].compared[0].with == "the plan");
  CHECK(all[0].compared[0].difference_ratio == rig.decider->recent().mean());
  CHECK(all[0].compared[0].blocks == rig.decider->recent().blocks());
  CHECK(all[0].compared[0].age_s.value() < 10);
  CHECK(all[1].who == "the plan");
  CHECK_FALSE(all[1].serves);
  CHECK(all[1].why.empty());
  CHECK(all[2].who == "the network learned on this cluster");
  CHECK(all[2].certificate.empty());  // it speaks for the shipped one alone
  CHECK(all[2].why.find("replaces the initial network") != std::string::npos);
  CHECK(rig.decider->epsilon() == 0);  // it is not made to err
  rig.pod();
  CHECK(rig.last().model.loaded_from == "shipped:weighted");
}

TEST_CASE("a network with no certificate is not heard before it has shown that it is ahead") {
  NetworkRig rig(0, "", 0);
  for (int i = 0; i < 30; ++i) rig.pod();
  CHECK(rig.decider->network_gated());
  CHECK(rig.text(0).starts_with("the plan is in use: the network is a candidate and has not yet been shown"));
}

TEST_CASE("a certificate does not save a network that costs more here") {
  NetworkRig rig(10, "regret -0.016 [-0.025, -0.009] W0 a placement", 10);
  for (int i = 0; i < 300; ++i) {
    rig.pod();
    REQUIRE(rig.advice() == "cheap");
  }
  CHECK(rig.decider->network_gated());
  // A restart goes on with the trial.
  Decider next(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  for (const MonitorState& state : rig.decider->monitor_states()) REQUIRE(next.restore(state));
  CHECK(next.network_gated());
  CHECK(next.network_gate().state() == stats::NetworkState::on_trial);
  CHECK(next.network_gate().saved().behind_s == rig.decider->network_gate().saved().behind_s);
}

TEST_CASE("what was learned is kept out while it costs more than what it is held to, which goes on serving") {
  NetworkRig rig(0, "it was better elsewhere", 10);
  for (int i = 0; i < 300; ++i) {
    rig.pod();
    REQUIRE(rig.advice() == "cheap");
  }
  CHECK_FALSE(rig.decider->network_gated());
  CHECK_FALSE(rig.decider->learned_network_gate().in_use());
  CHECK(rig.decider->learned_network_gate().mean() > 0);
}

TEST_CASE("what was learned is heard once it costs less than what it is held to, and a restart does not forget it") {
  NetworkRig rig(10, "it was better elsewhere", 0);
  int pods = 0;
  while (pods < 3000 && !rig.decider->learned_network_gate().in_use()) {
    rig.pod();
    ++pods;
  }
  REQUIRE(rig.decider->learned_network_gate().in_use());
  CHECK(rig.decider->in_use().learned);
  CHECK(rig.decider->in_use().version.sha256 == "learned");
  rig.pod();
  CHECK(rig.advice() == "cheap");
  Decider next(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  for (const MonitorState& state : rig.decider->monitor_states()) REQUIRE(next.restore(state));
  CHECK(next.received().learned);
  CHECK(next.learned_network_gate().blocks() == rig.decider->learned_network_gate().blocks());
  // The one that was learned here has its own figures, none of those that speak for the shipped one, and a restart keeps them.
  for (int i = 0; i < 30; ++i) rig.pod();
  const std::vector<Contender> all = rig.decider->contenders();
  REQUIRE(all.size() == 3);
  // The verdict is about the network that was asked before, and names it.
  CHECK(all[0].who == "the plan");
  CHECK(all[0].serves);
  CHECK(all[0].why.starts_with("the network "));
  CHECK(all[1].who == "the network learned on this cluster");
  CHECK(all[1].certificate.empty());
  CHECK(rig.text(1).find("it was better elsewhere") == std::string::npos);
  REQUIRE(all[1].compared.size() == 2);
  CHECK(all[1].compared[0].with == "the plan");
  CHECK(all[1].compared[0].blocks < rig.decider->network_gate().blocks());  // those of the other are not counted
  CHECK(all[1].compared[1].with == "the initial network");
  CHECK(all[1].compared[1].difference_ratio < 0);
  CHECK(all[2].who == "the network shipped:weighted");
  CHECK(all[2].certificate == "it was better elsewhere");
  CHECK(all[2].compared.empty());
  Decider later(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  for (const MonitorState& state : rig.decider->monitor_states()) REQUIRE(later.restore(state));
  const std::vector<Contender> restored = later.contenders();
  REQUIRE(restored.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(contender_text(restored[i]) == contender_text(all[i]));
}

TEST_CASE("in mode live the floor serves until measured blocks show that another candidate costs less") {
  DeciderRig rig(Mode::live);
  rig.config.require_evidence = rig.config.measure_candidates = true;
  rig.decider.emplace(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  REQUIRE(rig.decider->trials().active());
  const std::vector<Contender> all = rig.decider->contenders();
  REQUIRE(all.size() == placement::kCandidates.size());
  CHECK(all[0].who == "the policy " + std::string(rig.decider->trials().name(placement::Candidate::floor)));
  CHECK(all[0].serves);
  CHECK(rig.decider->network_gated());
  rig.config.require_evidence = false;
  rig.decider.emplace(
      rig.config, rig.state, rig.networks, rig.clock, [](LearningNews) {}, 1);
  CHECK_FALSE(rig.decider->trials().active());

  Contender planner{"the policy planner", true, {}, {}, {}, stats::NetworkState::in_use};
  planner.measured = MeasuredDifference{"node-order", -0.031, -0.044, -0.018, 22, {}};
  CHECK(contender_text(planner) ==
        "the policy planner is in use: 3.1% less energy per unit of work than node-order [-4.4, -1.8], measured in 22 "
        "groups of blocks");
}
