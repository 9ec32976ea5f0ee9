// Changes of the reward preset in a controller: an initially silent network learns, and no node gets a random score of
// 10.
#include <doctest/doctest.h>

#include <random>

#include "common/json/value.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/learn/learner.hpp"
#include "placement/worth/features.hpp"
#include "tests/integration/controller/shipped.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/unit/placement/preset_fleet.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;
using placement::Preset;
using namespace placement::testing;

namespace {

bool ships(const std::string& preset) { return std::filesystem::exists(kShipped + "/" + preset + ".safetensors"); }

}  // namespace

TEST_CASE("a change from the shipped preset and back in mode live never answers with a random score of 10") {
  if (cannot_learn()) return;
  World world(2);
  world.config.mode = Mode::shadow;
  world.config.models_dir = kShipped;
  world.config.repeat_within = 0s;
  world.config.decide.mask.stale_after_s = 600;
  world.start();
  Agents agents = connect_agents(world, 2);
  auto shim = world.ask_client(world.shim), client = world.ask_client(world.operator_key);
  const std::string uid = "p";  // never bound, so that it uses no node's capacity
  const auto decided = [&](const std::string& preset) {
    const auto scored = shim.ask(ask_for(uid, {"n0", "n1"}), wattle::tests::soon());
    if (!scored) FAIL(scored.error().message());
    const json decision = answer(client, "explain", {{"pod", uid}})["decision"];
    const auto by = decision["decided_by"].get<std::string>(), reason = decision["reason"].get<std::string>();
    INFO(reason);
    const auto ten = std::count(scored->scores.begin(), scored->scores.end(), 10);
    CHECK((by == "neutral" || by == "network" || by == "fallback"));
    CHECK(ten == (by == "neutral" ? 0 : 1));
    CHECK(reason.find(by == "neutral" ? "the same value" : "for " + preset) != std::string::npos);
    // The advised node has the highest Q, and another node has less.
    if (by != "neutral") {
      double best = -1e9, worst = 1e9, advised = 0;
      for (const json& each : decision["candidates"]) {
        best = std::max(best, each["q"].get<double>());
        worst = std::min(worst, each["q"].get<double>());
        if (each["node"] == decision["advice"]) advised = each["q"].get<double>();
      }
      CHECK(advised == best);
      CHECK(best > worst);
    }
    return by;
  };
  for (const std::string preset : {"ee", "lc", "lb", "power", "drs", "el-rl", "expression", "ee"}) {
    CAPTURE(preset);
    Pairs change{{"reward", preset}, {"mode", "live"}, {"force", "yes"}, {"why", "a test"}};
    if (preset == "expression") change["expression"] = "energy + latency";
    answer(client, "policy-set", change);
    decided(preset);  // immediately, by the network that is available
    const std::string from = ships(preset) ? "shipped:" + preset : "the prior only";
    std::string ranked;
    const bool began = run_until(world, agents, [&] {
      ranked = answer(client, "policy")["ranked_by"].get<std::string>();
      // A change back restores the network that was saved for the preset when an order made it the trusted one.
      const std::string network = "a network for " + preset + " trained from ";
      return ranked.starts_with(network + from) || ranked.starts_with(network + "preset-" + preset);
    });
    REQUIRE_MESSAGE(began, ranked);
    const std::string by = decided(preset);
    CHECK((by == "neutral" || by == (ships(preset) ? "network" : "fallback")));
  }
  answer(client, "policy-set", {{"reward", "weighted"}, {"why", "back"}});
  CHECK(run_until(world, agents, [&] {
    const auto ranked = answer(client, "policy")["ranked_by"].get<std::string>();
    const std::string network = "a network for weighted trained from ";
    return ranked.find(network + "shipped:weighted") != std::string::npos ||
           ranked.find(network + "preset-weighted") != std::string::npos;
  }));
}

TEST_CASE("after orders to another preset and back, the shipped network is a candidate as after a start") {
  if (cannot_learn()) return;
  World world(2);
  world.config.mode = Mode::shadow;
  world.config.models_dir = kShipped;
  world.config.measure_candidates = true;
  world.start();
  Agents agents = connect_agents(world, 2);
  auto client = world.ask_client(world.operator_key);
  const auto serves = [&] {
    const json text = answer(client, "status")["network_serves"];
    return text.is_string() ? text.get<std::string>() : std::string();
  };
  const std::string candidate = "the network baseline is a candidate";
  REQUIRE(run_until(world, agents, [&] { return serves().find(candidate) != std::string::npos; }));
  const std::string before = serves();
  for (const Pairs& away : {Pairs{{"reward", "ee"}}, Pairs{{"reward", "power"}}, Pairs{{"policy", "amortised"}},
                            Pairs{{"reward", "weighted"}, {"weight.energy", "2"}}}) {
    CAPTURE(away.begin()->second);
    Pairs change = away;
    change["why"] = "a test";
    answer(client, "policy-set", change);
    answer(client, "policy-set", {{"policy", "dqn"}, {"reward", "weighted"}, {"weight.energy", "1"}, {"why", "back"}});
    CHECK(run_until(world, agents, [&] { return serves() == before; }));
  }
  world.controller.reset();
  world.start();
  auto again = world.ask_client(world.operator_key);
  CHECK(answer(again, "policy")["policy"] == "dqn");
}

TEST_CASE("a network that values every node at 0 learns to distinguish nodes under every preset") {
  if (cannot_learn()) return;
  const placement::ClusterView view = plain_fleet();
  const placement::PodSpec pod = plain_pod();
  for (const Preset preset : kPresets) {
    CAPTURE(placement::to_string(preset));
    placement::RewardConfig reward = reward_of(preset);
    reward.with_prior = false;  // only the learned residual
    std::vector<double> paid;
    for (std::size_t i = 0; i < view.nodes.size(); ++i)
      paid.push_back(placement::evaluate(reward, outcome_on(reward, view, pod, i)).value);
    const auto [least, most] = std::minmax_element(paid.begin(), paid.end());
    LearnConfig config;
    config.learning_rate = 5e-3;
    auto trainer = make_network(config).value();
    placement::LearnerOptions options;
    options.batch = options.warmup = 32;
    options.n_step = 1;
    options.tau_s = 1e-3;  // no credit across placements
    options.reward_scale = 2 / (*most - *least);
    options.reward_centre = (*most + *least) / 2;
    placement::Learner learner(options, reward, *trainer);
    const auto decide = [&] {
      const auto network = models::FrozenNetwork::from_weights(trainer->weights(), trainer->steps()).value();
      const auto policy = placement::make_policy("dqn").value();
      placement::DecideOptions how;
      how.reward = reward;
      std::mt19937_64 random(1);
      return placement::decide(view, pod, names_of(view), {*policy, network.get()}, how, 0, random);
    };
    CHECK(decide().record.decided_by == "neutral");
    const models::Observation seen = decide().observation;
    for (std::uint64_t id = 1; id <= 200; ++id) {
      const auto node = static_cast<std::uint32_t>(id % view.nodes.size());
      learner.placed(id, seen, node, mono_from_ns(static_cast<std::int64_t>(id) * kSecondNs));
      REQUIRE(learner.settled(id, outcome_on(reward, view, pod, node)));
    }
    for (int step = 0; step < 400; ++step) REQUIRE(learner.step());
    const placement::PlacementDecision advice = decide();
    CHECK(advice.record.decided_by == "network");
    CHECK(advice.record.advice == best_by_reward(reward, view, pod));
  }
}

TEST_CASE(
    "without a plan the heads of a silent network are closed, and no gradient "
    "passes") {
  if (cannot_learn()) return;
  const auto shipped =
      models::read_pretrained(kShipped + "/weighted.safetensors", placement::feature_schema_hash(), "weighted");
  REQUIRE(shipped);
  auto trainer = make_network(LearnConfig{}, shipped->weights).value();
  const placement::ClusterView view = plain_fleet();
  models::Transition each;
  each.state =
      placement::observe(view, plain_pod(), std::vector<std::string_view>(view.nodes.size()), reward_of(Preset::ee));
  each.reward = 5;
  const models::Transition* const batch[] = {&each};
  for (int step = 0; step < 20; ++step) CHECK(trainer->step(batch)->grad_norm <= 5.0);
  std::vector<float> said(view.nodes.size(), 1.0F);
  models::FrozenNetwork::from_weights(trainer->weights(), 0).value()->residual(each.state, said);
  for (const float value : said) CHECK(value == said[0]);  // learning does not distinguish nodes
}
