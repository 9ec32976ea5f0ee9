// live_engine: the controller's decision engine (placement/decide/decision_engine), fed from a World like a controller
// from a cluster.
// Input    bindings and ends at once, as from an API server; pods' usage and the view with each delivery of telemetry
// Shadow   as in the controller's shadow mode: its choices are advice that the scheduler does not follow
// Learned  a network that learns on this cluster, in addition to the initial one; the trials decide which of them
//          serves, as in the controller (controller/decisions/decision_core)
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/decide/decision_engine.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

struct LiveEngineOptions {
  std::string policy = "dqn";
  placement::EngineOptions engine;
  bool acting = true;  // its choices are executed, so that waiting is attributed to it
  // choices that are modelled in addition to the actual cluster
  placement::Modelled modelled = placement::Modelled::none;
  const placement::PolicyInfo* made_by = nullptr;  // makes the policy in place of the registry
};

class LiveEngine final : public WorldObserver {
 public:
  static Result<std::unique_ptr<LiveEngine>> make(LiveEngineOptions options,
                                                  placement::ClusterModel cluster_model = placement::ClusterModel());

  // Returns the pod with its expectations; make the view of its decision with it.
  placement::PodSpec expected(const placement::PodSpec& pod) const { return engine_.expected(pod); }
  // Decides among all nodes of the view. `network` serves a policy that learns.
  placement::PlacementDecision decide(const placement::ClusterView& view, const placement::PodSpec& pod,
                                      const models::QNetwork* network, double epsilon, std::mt19937_64& random,
                                      const placement::Ahead& ahead = {});
  // Returns the policy's own values of the nodes (DecisionEngine::values).
  std::vector<double> values(const placement::ClusterView& view, const placement::PodSpec& pod,
                             std::span<const std::size_t> feasible, std::span<const placement::KubeNode> scheduler) {
    return engine_.values(view, pod, feasible, scheduler, decisions_++);
  }
  // Sets the canary block without followed advice; no value: none is active.
  void set_control(std::optional<std::uint64_t> block) { engine_.shadow().set_control(block); }
  // Sets the network learned so far; null: none. It must live until the next one is set.
  void set_learned(const models::QNetwork* learned) { learned_ = learned; }
  // Continues from earlier measured evidence. Errors: malformed.
  Status restore(const placement::CandidateTrials::State& kept);
  // Does the controller's periodic work (about once a second).
  void refresh(const placement::ClusterView& view);
  const placement::DecisionEngine& engine() const { return engine_; }

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void resized(const std::string& uid, const placement::Resources& request) override {
    engine_.cluster_model().resized(uid, request);
  }
  void used(std::span<const PodUse> pods, double interval_s) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void reported(const World& world) override;

 private:
  LiveEngine(LiveEngineOptions options, placement::ClusterModel cluster_model)
      : options_(std::move(options)), engine_(options_.engine, std::move(cluster_model)) {}

  LiveEngineOptions options_;
  placement::DecisionEngine engine_;
  std::vector<std::string> names_;
  std::vector<placement::PodHandle> known_as_;  // by the world's pod number
  std::vector<placement::PodReading> readings_;
  std::uint64_t decisions_ = 0;
  // Returns the network that would serve, given the initial one.
  const models::QNetwork* in_use(const models::QNetwork* initial) const;

  const models::QNetwork* learned_ = nullptr;
};

}  // namespace wattle::sim
