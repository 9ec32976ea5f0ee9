// decider_rig: a decider with its own state, two nodes, a manual clock, and the news that it posts to the trainer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/decisions/decider.hpp"
#include "controller/ingest/telemetry.hpp"
#include "tests/unit/controller/helpers.hpp"

namespace wattle::controller::test {

// Ignores the events of sessions.
struct NoSink final : TelemetrySink {
  void on_hello(const wire::Hello&) override {}
  void on_record(const std::string&, const Record&) override {}
  void on_live(const std::string&, const Record&) override {}
  void on_placement(const wire::Placement&) override {}
  void on_lost(const std::string&) override {}
};

// Returns the verdict that a case sets.
struct Verdicts final : DecisionSink {
  std::function<bool(const ArmNow&, double)> verdict;
  bool on_decided(const ArmNow& arm, double max_abs_residual) override {
    return !verdict || verdict(arm, max_abs_residual);
  }
};

struct DeciderRig {
  ControllerConfig config;
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  ClusterState state{std::chrono::seconds(30)};
  ServingModel networks;
  std::vector<LearningNews> news;
  Verdicts verdicts;
  std::optional<Decider> decider;
  std::uint64_t seq = 0;

  // Starts without nodes.
  explicit DeciderRig(ModeSetting mode, placement::DecideOptions decide = {}) {
    config.mode = mode;
    config.settle_window = std::chrono::seconds(3);
    config.decide = decide;
    decider.emplace(
        config, state, networks, verdicts, clock, [this](LearningNews item) { news.push_back(std::move(item)); }, 1);
  }
  DeciderRig(const DeciderRig&) = delete;
  DeciderRig& operator=(const DeciderRig&) = delete;

  // n1 and n2, each with one second of records.
  void begin() {
    state.greet(hello_of("n1"));
    state.greet(hello_of("n2"));
    tick({});
  }
  // One second passes; n1 runs these pods with 0.8 cores each.
  void tick(const std::vector<std::string>& pods) {
    clock.advance(std::chrono::seconds(1));
    ++seq;
    Record record = record_of("n1", seq);
    for (const std::string& uid : pods) record.workloads.push_back(pod_values(uid, 800'000));
    const RecordNews reported = state.apply("n1", record, clock.mono());
    for (const std::string& uid : reported.appeared) decider->placements().placed(uid, "n1", false);
    decider->outcomes().record("n1", record, reported);
    state.apply("n2", record_of("n2", seq), clock.mono());
  }
};

}  // namespace wattle::controller::test
