// The controller's decider and the simulator's live engine make the same decisions from the same input, byte for byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "common/wire/codec.hpp"
#include "models/frozen/frozen_network.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/policies/live_engine.hpp"
#include "tests/unit/controller/decider_rig.hpp"
#include "tests/unit/models/loud_weights.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

constexpr std::size_t kNodes = 7;

// Prefers the node that the prior ranks last.
class Contrary final : public models::QNetwork {
 public:
  void residual(const models::Observation& observation, std::span<float> out) const override {
    for (std::size_t i = 0; i < observation.nodes; ++i)
      out[i] = observation.valid[i] != 0 ? -3 * observation.prior[i] : 0.0F;
  }
  std::uint64_t step() const override { return 5; }
};

struct BothReported : DeciderRig {
  std::shared_ptr<const models::QNetwork> network =
      models::FrozenNetwork::from_weights(wattle::test::loud_weights(), 3).value();
  std::unique_ptr<sim::LiveEngine> engine;
  std::mt19937_64 ties, dice{77};
  std::vector<std::string> names;
  struct Ran {
    std::uint64_t id = 0;
    std::string uid;
    std::size_t row = 0;
    double cores = 0;
  };
  std::vector<Ran> running;
  std::uint64_t decided = 0, neutral = 0, gated = 0;

  BothReported(const std::string& policy, bool measured, const placement::NetworkOptions& network_options = {},
               std::shared_ptr<const models::QNetwork> other = nullptr)
      : DeciderRig(Mode::live) {
    if (other) network = std::move(other);
    config.network = network_options;
    config.policy = policy;
    config.learn.tabular = policy == "tabular-q";
    config.decide.epsilon = 0;
    config.measure_candidates = measured;
    config.blocks = {.length = std::chrono::seconds(3), .washout = std::chrono::seconds(1)};
    decider.emplace(
        config, state, networks, verdicts, clock, [](LearningNews) {}, 1);
    networks.set(network, {"digest", "a-file"});
    if (measured) networks.trust(network, {"digest", "a-file", {}, {}, "it was better elsewhere"});
    ties.seed(static_cast<std::uint64_t>(config.seed));
    sim::LiveEngineOptions options{policy, {config.decide, network_options}};
    options.engine.trials = {.on = measured,
                             .length = config.blocks.length,
                             .day = 48 * config.blocks.length,
                             .seed = static_cast<std::uint64_t>(config.seed)};
    engine = sim::LiveEngine::make(std::move(options)).value();
    for (std::size_t i = 0; i < kNodes; ++i) {
      names.push_back("n" + std::to_string(i));
      state.greet(hello_of(names.back()));
      std::array<double, placement::kCurvePoints> watts{};
      for (std::size_t k = 0; k < watts.size(); ++k)
        watts[k] =
            static_cast<double>(40 + 15 * i) + static_cast<double>(5 + 3 * ((i * 5) % 7)) * static_cast<double>(k);
      state.adopt_curve(names.back(), placement::PowerCurve::known(watts));
    }
    second();
  }

  void second() {
    clock.advance(std::chrono::seconds(1));
    ++seq;
    for (std::size_t i = 0; i < kNodes; ++i) {
      Record record = record_at(seq);
      record.node.cpu_used_cores = 0.3;
      for (const Ran& each : running)
        if (each.row == i) {
          record.workloads.push_back(pod_values(each.uid, static_cast<std::uint64_t>(1e6 * each.cores)));
          record.workloads.back().pressure.cpu_some_ratio = 0.1 * static_cast<double>(each.row % 3);
          *record.node.cpu_used_cores += each.cores;
        }
      const RecordNews reported = state.apply(names[i], record, clock.mono());
      decider->outcomes().record(names[i], record, reported);
      for (const Ran& each : running) {
        if (each.row != i) continue;
        const Workload& ran = state.node(names[i])->workloads.at(each.uid);
        if (!ran.cpu_cores) continue;
        const double waited = placement::stalled_ratio(ran.values, *ran.cpu_cores, 1).value();
        engine->used(std::array{sim::PodUse{each.id, *ran.cpu_cores, 0, waited}}, 1);
      }
    }
    engine->refresh(state.view({}, clock.mono()));
    decider->expire();
  }

  // Every decision has the terms of the two best nodes' values.
  static void explained(const LoggedDecision& entry) {
    const auto& candidates = entry.decision.candidates;
    const auto feasible =
        std::count_if(candidates.begin(), candidates.end(), [](const auto& c) { return c.masked.empty(); });
    const bool distinguished = entry.decision.decided_by != "neutral";
    REQUIRE(entry.winner_terms.has_value() == (distinguished && feasible > 0));
    REQUIRE(entry.runner_up_terms.has_value() == (distinguished && feasible > 1));
    const auto adds_up = [&](const std::string& node, const Contributions& terms) {
      const auto found =
          std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.node == node; });
      REQUIRE(found != candidates.end());
      CHECK(terms.energy + terms.latency + terms.residual == doctest::Approx(found->q));
    };
    if (entry.winner_terms) adds_up(entry.winner, *entry.winner_terms);
    if (entry.runner_up_terms) adds_up(entry.runner_up, *entry.runner_up_terms);
    if (!entry.winner_terms) return;
    REQUIRE(entry.features.has_value());
    CHECK(entry.features->runner_up.has_value() == entry.runner_up_terms.has_value());
    if (entry.decision.explored || entry.decision.advice.empty()) return;
    CHECK(entry.winner == entry.decision.advice);
    if (entry.runner_up_terms) CHECK(entry.winner_terms->policy_value >= entry.runner_up_terms->policy_value);
  }

  double unit() { return std::uniform_real_distribution<double>(0, 1)(dice); }

  void decide_one() {
    const std::string uid = "pod-" + std::to_string(decided);
    wire::Ask ask = ask_for(uid, names);
    ask.app = "ReplicaSet/app" + std::to_string(dice() % 4);
    ask.owner = "default/" + ask.app;
    ask.cpu_request_cores = 0.25 + unit();
    if (dice() % 4 == 0) ask.latency_soft_ms = 20 * unit();
    ask.daemonset = dice() % 16 == 0;

    placement::PodSpec pod;
    pod.uid = ask.pod_uid;
    pod.name = ask.pod_name;
    pod.pod_namespace = ask.pod_namespace;
    pod.app = ask.app;
    pod.owner = ask.owner;
    pod.request = {ask.cpu_request_cores, ask.memory_request_bytes};
    pod.daemonset = ask.daemonset;
    pod.latency_soft_ms = ask.latency_soft_ms;
    pod = engine->expected(pod);
    const placement::PlacementDecision simulated =
        engine->decide(state.view(pod, clock.mono()), pod, network.get(), config.decide.epsilon, ties);
    const wire::Suggestion live = decider->asks().ask(ask);

    const LoggedDecision* entry = decider->log().newest(uid);
    REQUIRE(entry != nullptr);
    wire::Decision record = simulated.record;
    record.id = entry->decision.id;
    record.wall_ns = entry->decision.wall_ns;
    record.mode = entry->decision.mode;
    record.model_step = entry->decision.model_step;
    record.decide_us = entry->decision.decide_us;
    REQUIRE(wire::encode(record) == wire::encode(entry->decision));
    CHECK(live.scores == simulated.scores);
    explained(*entry);
    ++decided;
    if (!simulated.top) ++neutral;
    if (engine->engine().gated()) ++gated;
    CHECK(engine->engine().gated() == decider->engine().gated());
    CHECK(engine->engine().trials().serves() == decider->engine().trials().serves());
    CHECK(engine->engine().trials().groups(placement::Candidate::baseline) ==
          decider->engine().trials().groups(placement::Candidate::baseline));
    CHECK(engine->engine().trials().day_excess() == doctest::Approx(decider->engine().trials().day_excess()));
    if (!simulated.top && simulated.predictions.empty()) return;
    // A scheduler chooses the node, usually the advised one.
    const std::size_t row = !simulated.top || dice() % 4 == 0 ? dice() % kNodes : simulated.row_of[*simulated.top];
    engine->placed(decided, pod, names[row], row, clock.mono());
    decider->placements().placed(uid, names[row], false);
    running.push_back({decided, uid, row, ask.cpu_request_cores * unit()});
  }

  void end_one() {
    if (running.empty()) return;
    const std::size_t which = dice() % running.size();
    const Ran gone = running[which];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    const placement::PodSpec pod = state.pod(gone.uid)->spec;
    engine->ended(pod, gone.row, clock.mono());
    decider->placements().gone(gone.uid, names[gone.row]);
  }
};

}  // namespace

TEST_CASE("simulator and controller decide the same under every policy, with networks and candidates") {
  for (const placement::PolicyInfo& policy : placement::policies()) {
    for (const bool measured : {false, true}) {
      CAPTURE(policy.name);
      CAPTURE(measured);
      BothReported both(std::string(policy.name), measured);
      for (int turn = 0; turn < 400; ++turn) {
        both.second();
        both.decide_one();
        if (both.running.size() > 25 || both.dice() % 3 == 0) both.end_one();
      }
      CHECK(both.decided == 400);
      CHECK(both.neutral < 100);
    }
  }
}

TEST_CASE("margin and shortlist are the same in simulator and controller, and affect decisions") {
  const auto decided_by = [](const placement::NetworkOptions& options) {
    BothReported both("dqn", false, options, std::make_shared<Contrary>());
    std::vector<std::string> advice;
    for (int turn = 0; turn < 200; ++turn) {
      both.second();
      both.decide_one();
      advice.push_back(both.decider->log().newest("pod-" + std::to_string(turn))->decision.advice);
      if (both.running.size() > 25 || both.dice() % 3 == 0) both.end_one();
    }
    return advice;
  };
  placement::NetworkOptions margin, shortlist;
  margin.margin = 1000;
  shortlist.shortlist = 2;
  const auto plain = decided_by({});
  CHECK(decided_by(margin) != plain);
  CHECK(decided_by(shortlist) != plain);
}
