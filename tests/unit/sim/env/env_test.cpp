#include "sim/env/env.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/env/evaluate.hpp"
#include "tests/unit/models/loud_weights.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

EnvOptions small(std::string_view name, std::size_t placements) {
  EnvOptions options;
  options.scenario = find_scenario(name).value();
  options.scenario.placements = placements;
  return options;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An episode of random valid actions, as bytes.
std::string episode(Env& env, std::uint64_t seed, std::uint64_t action_seed) {
  Random random(action_seed);
  std::string bytes;
  EnvStep step = env.reset(seed);
  while (!step.done) {
    const auto& observation = step.observation;
    bytes.append(reinterpret_cast<const char*>(observation.node.data()), observation.node.size() * sizeof(float));
    bytes.append(reinterpret_cast<const char*>(observation.valid.data()), observation.valid.size());
    std::vector<std::size_t> valid;
    for (std::size_t i = 0; i < observation.nodes; ++i)
      if (observation.valid[i]) valid.push_back(i);
    auto next = env.step(valid[pick(random, valid.size())]);
    REQUIRE(next);
    step = std::move(*next);
    append(bytes, step.reward);
    append(bytes, step.settled);
  }
  append(bytes, env.world().figures().energy_j);
  return bytes;
}

}  // namespace

TEST_CASE("the same seed and actions give the same bytes, and another seed does not") {
  for (const char* name : {"churn_sleep", "thesis_test1", "latency_shift", "fill_sleep"}) {
    CAPTURE(name);
    Env env(small(name, 60)), again(small(name, 60));
    const std::string bytes = episode(env, 3, 1);
    CHECK(bytes == episode(again, 3, 1));
    CHECK(bytes == episode(env, 3, 1));  // no state of an earlier episode remains
    CHECK(bytes != episode(env, 4, 1));
  }
}

TEST_CASE("an episode ends after its placements, and then all outcomes are in") {
  Env env(small("thesis_test2", 50));
  EnvStep step = env.reset(1);
  std::uint64_t steps = 0, settled = step.settled;
  while (!step.done) {
    const auto& valid = step.observation.valid;
    const auto action = std::find(valid.begin(), valid.end(), 1) - valid.begin();
    step = env.step(static_cast<std::size_t>(action)).value();
    settled += step.settled;
    ++steps;
  }
  CHECK(steps == 50);
  CHECK(settled == 50);
  CHECK(env.world().running().size() == 30);
  CHECK(env.step(0).error().code == Errc::conflict);
}

TEST_CASE("a masked action is refused with its reason and changes nothing") {
  Env env(small("fill", 400));
  EnvStep step = env.reset(1);
  CHECK(env.step(99).error().code == Errc::out_of_range);
  // Fill node 0 until it is masked; the other nodes stay valid.
  std::size_t placed = 0;
  for (; !step.done && step.observation.valid[0]; ++placed) step = env.step(0).value();
  REQUIRE_FALSE(step.done);
  const double before_s = env.world().now_s();
  const auto refused = env.step(0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_range);
  CHECK(refused.error().what.find("masked") != std::string::npos);
  CHECK(env.world().now_s() == before_s);
  CHECK(env.world().running().size() == placed);
}

TEST_CASE("pods that fit nowhere wait, and return once there is room") {
  EnvOptions options = small("churn", 150);
  options.scenario.nodes = 2;
  options.scenario.load_ratio = 2;
  Env env(options);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Random ties(seed);
    std::map<std::string, double> away;  // UID -> since
    std::set<std::string> placed, waited;
    double pending_s = 0;
    env.begin(seed);
    while (!env.done()) {
      const SimPod& pod = env.waiting();
      const std::string uid = pod.spec.uid;
      const double now_s = env.world().now_s();
      REQUIRE_FALSE(placed.contains(uid));
      const auto before = away.find(uid);
      const auto view = env.view();
      CHECK(view.pending_pods == env.pending());
      CHECK(env.pending() == away.size() - (before == away.end() ? 0 : 1));
      const auto target = bind_target(env, {}, ties);
      if (before != away.end()) {
        CHECK(target);  // no pod is retried in vain
        CHECK(now_s > before->second + kRetry_s - 1e-6);
      }
      if (!target) {
        away.emplace(uid, now_s);
        waited.insert(uid);
        env.turn_away();
        continue;
      }
      if (before != away.end()) {
        pending_s += now_s - before->second;
        away.erase(before);
      }
      placed.insert(uid);
      REQUIRE(env.bind(*target, view));
    }
    CHECK(waited.size() > 5);
    CHECK(waited.size() > env.pending());
    CHECK(placed.size() + env.pending() == 150);
    for (const auto& [uid, since_s] : away) pending_s += env.world().now_s() - since_s;
    CHECK(env.pending_s() == doctest::Approx(pending_s));
    CHECK(env.take_settled().size() <= placed.size());
  }
}

TEST_CASE("permuting the nodes of a view permutes the decision") {
  const auto network = models::FrozenNetwork::from_weights(test::loud_weights(), 1).value();
  Env env(small("churn_sleep", 40));
  Random random(2);
  env.begin(9);
  for (std::uint64_t turn = 0; !env.done(); ++turn) {
    const placement::ClusterView view = env.view();
    const placement::PodSpec& pod = env.waiting().spec;
    std::vector<std::size_t> order(view.nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[pick(random, i)]);
    placement::ClusterView shuffled = view;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shuffled.nodes[i] = view.nodes[order[i]];
      names.push_back(env.node_names()[order[i]]);
    }
    for (const char* name : {"dqn", "model-greedy"}) {
      const auto policy = placement::make_policy(name).value();
      const placement::PolicyInputs mind{*policy, network.get()};
      Random a(1), b(1);
      const auto advice = placement::decide(view, pod, env.node_names(), mind, {}, turn, a);
      const auto permuted = placement::decide(shuffled, pod, names, mind, {}, turn, b);
      REQUIRE(advice.top.has_value() == permuted.top.has_value());
      if (advice.top) CHECK(advice.candidates[*advice.top] == permuted.candidates[*permuted.top]);
    }
    Random ties(turn);
    REQUIRE(env.bind(*bind_target(env, {}, ties), view));
  }
}

TEST_CASE("after a latency shift was reported, latency-bound pods no longer go to the node that became far") {
  EnvOptions options = small("latency_shift", 120);
  options.reward.weights.energy = 0.01;
  Env env(options);
  const WorldOptions world = make_world(options.scenario, {}, 2);
  REQUIRE(world.trouble.shifts.size() == 4);
  const LatencyShift& away = world.trouble.shifts[0];  // the nearest becomes the farthest
  placement::DecideOptions decide;
  decide.reward = options.reward;
  const auto policy = placement::make_policy("model-greedy").value();
  Random random(1);
  int before = 0, after = 0, decisions_after = 0;
  env.begin(2);
  for (std::uint64_t turn = 0; !env.done(); ++turn) {
    const double now_s = env.world().now_s();
    const auto view = env.view();
    const auto advice = placement::decide(view, env.waiting().spec, env.node_names(), {*policy}, decide, turn, random);
    const auto target = bind_target(env, advice.scores, random).value();
    if (target == away.node && now_s < away.at_s) ++before;
    // One telemetry interval and its delay later, the shift is known.
    if (now_s > away.at_s + 11 && now_s < world.trouble.shifts[2].at_s) {
      ++decisions_after;
      if (target == away.node) ++after;
    }
    REQUIRE(env.bind(target, view));
  }
  CHECK(before > 0);
  CHECK(decisions_after > 20);
  CHECK(after == 0);
}

TEST_CASE("an unknown scenario is refused with the existing names") {
  const auto missing = find_scenario("nope");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().fix.find("thesis_test2") != std::string::npos);
}

TEST_CASE("the waiting that the controller learns in shadow is the pods' real waiting, as a share of their lifetime") {
  const EnvOptions options = small("provisioning", 150);  // few pods at first, and short of cores at the end
  const Contestant watched{"kube-default", Binding::unadvised};
  for (const std::uint64_t seed : {5U, 6U, 7U}) {
    Env env(options);
    Chooser chooser =
        Chooser::make(watched, {options.reward, options.mask, {}, {}, {}, options.extender_weight}, seed).value();
    env.begin(seed, chooser.observer());
    while (!env.done()) {
      env.expect(chooser.expected(env.waiting().spec));
      const placement::ClusterView view = env.view();
      const auto target = chooser.choose(env.world(), view, env.waiting());
      REQUIRE(target);
      REQUIRE(env.bind(*target, view));
    }
    const WorldFigures truth = env.world().figures();
    const auto learned = chooser.engine().engine().cluster_model().pod_time().cpu_wait().under_default();
    REQUIRE(learned);
    CHECK(*learned == doctest::Approx(truth.pressure_pod_s / truth.pod_s).epsilon(0.02));
  }
}
