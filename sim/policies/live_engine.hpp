// live_engine: the decision engine of the controller (placement/decision_engine), told of a World what a controller is told of a cluster.
// Told     bindings and ends at once, as an API server tells them; what pods used and the view with each delivery of telemetry
// Shadow   as in mode shadow of the controller: its choices are advice that nobody follows
// Gate     one decision of those since the last refresh is compared, as the controller does; only if it is asked for
// Threads  single owner
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/decision_engine.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

struct LiveEngineOptions {
  std::string policy = "dqn";
  placement::EngineOptions engine;
  bool gate = false;    // false: a network is heard whatever it costs
  bool acting = true;   // its choices are what happens: waiting is theirs
  bool shadow = false;  // what it advises is reserved, and modelled beside what happens
};

// What a controller keeps over a restart beside its knowledge (controller/decisions/decision_monitors).
struct KeptVerdicts {
  placement::PlanRecord::State plan;
  placement::SequentialTestState network;
  std::string network_why;
};
KeptVerdicts verdicts_of(const placement::DecisionEngine& engine);

class LiveEngine final : public WorldObserver {
 public:
  static Result<std::unique_ptr<LiveEngine>> make(LiveEngineOptions options,
                                                  placement::ClusterModel knowledge = placement::ClusterModel());

  // The pod with what is expected of it, as the view that it is decided on must be made for.
  placement::PodSpec expected(const placement::PodSpec& pod) const { return engine_.expected(pod); }
  // Among all nodes of the view; `network` serves a policy that learns, and with the gate it is there until the next decision.
  placement::PlacementDecision decide(const placement::ClusterView& view, const placement::PodSpec& pod,
                                      const models::QNetwork* network, double epsilon, std::mt19937_64& random,
                                      const placement::Ahead& ahead = {});
  // What the policy alone makes of the nodes (DecisionEngine::values).
  std::vector<double> values(const placement::ClusterView& view, const placement::PodSpec& pod,
                             std::span<const std::size_t> feasible, std::span<const placement::KubeNode> scheduler) {
    return engine_.values(view, pod, feasible, scheduler, decisions_++);
  }
  // The network has a certificate, as one that comes with the programs: it is on trial.
  void certified() { engine_.begin_gate_anew("the start", "held-out fleets speak for it"); }
  // It goes on where the one that kept them ended; copies of the cluster begin anew. That of the network counts with the gate alone.
  Status restore(const KeptVerdicts& kept);
  // What the controller does about once a second. A view is read before the next one is asked for.
  using ViewFor = std::function<const placement::ClusterView&(const placement::PodSpec&)>;
  void refresh(const ViewFor& view_for);
  const placement::DecisionEngine& engine() const { return engine_; }

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void used(std::span<const PodUse> pods, double interval_s) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void told(const World& world) override;

 private:
  LiveEngine(LiveEngineOptions options, placement::ClusterModel knowledge)
      : options_(std::move(options)), engine_(options_.engine, std::move(knowledge)) {}

  LiveEngineOptions options_;
  placement::DecisionEngine engine_;
  std::vector<std::string> names_;
  std::vector<placement::PodHandle> known_as_;  // by the world's number
  std::vector<placement::PodReading> readings_;
  std::uint64_t decisions_ = 0;
  const models::QNetwork* network_ = nullptr;
  std::optional<placement::PodSpec> to_compare_;
};

}  // namespace wattle::sim
