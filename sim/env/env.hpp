// env: a Gym-like environment that runs an episode one decision at a time.
//
//   reset(seed)  -> the first step: observation and mask, no reward yet
//   step(action) -> places the pod on node `action` (row of the observation) and advances to the next pod. The reward
//   is the sum of the outcomes that were read in between, for any placement: outcomes arrive a settle window after
//   their placement, as in operation. When done, all are included.
//
// Pending  a pod that fits nowhere waits and is retried (pending_pods.hpp). Pods that still wait aftermath_s after the
//          last placement count as turned away
// Input    the observation is that of the controller's network, including the plan and expectations of the episode so
//          far
// Shapes   observation.nodes = number of nodes, in the order of the world; observation.valid is the mask
// Units    rewards as in placement/worth/reward.hpp
// Errors   step: out_of_range for an action that is not a node or is masked (without any effect), conflict after the
//          end
// Threads  single owner; the same options, seed and actions give the same bytes
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/worth/features.hpp"
#include "placement/worth/reward.hpp"
#include "sim/env/pending_pods.hpp"
#include "sim/policies/live_engine.hpp"
#include "sim/scenarios/scenario.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

struct EnvOptions {
  Scenario scenario;
  placement::RewardConfig reward;
  placement::MaskOptions mask;
  std::int64_t extender_weight = kExtenderWeight;  // for binding by scores
  std::vector<ServerModel> measured;               // empty: synthetic servers
  // Fixes cluster and applications over all episodes, as for a live controller; only the pods differ. Unset: another
  // cluster per episode.
  std::optional<std::uint64_t> cluster_seed;
  placement::BudgetLimits limits;  // as an operator sets them
  double waiting_times = 1;        // factor on the scenario's waiting
  std::size_t look_ahead = 0;      // next pods that a decision gets: waiting ones, then arriving ones
};

struct EnvStep {
  bool done = false;
  double reward = 0;
  std::uint64_t settled = 0;        // number of outcomes in `reward`
  models::Observation observation;  // of the waiting pod; empty when done
};

class Env {
 public:
  explicit Env(EnvOptions options);

  EnvStep reset(std::uint64_t seed);
  Result<EnvStep> step(std::size_t action);

  // For drivers with their own policy, in place of step(). `observer` follows the world and must outlive the episode.
  void begin(std::uint64_t seed, WorldObserver* observer = nullptr);
  bool done() const { return !arrival_; }
  const SimPod& waiting() const { return arrival_->pod; }  // requires !done()
  // Sets the driver's expectation of the waiting pod, which views and placements then contain.
  void expect(placement::PodSpec pod) { arrival_->pod.spec = std::move(pod); }
  std::uint64_t decision_id() const { return decision_id_; }
  placement::ClusterView view() const;
  // At most options().look_ahead, in their order.
  std::vector<placement::PodSpec> next_pods() const;
  const std::vector<std::string>& node_names() const { return names_; }
  // Binds the waiting pod like kube-scheduler, without regard to masks, and advances to the next pod. The pod must fit.
  Status bind(std::size_t node, const placement::ClusterView& view);
  // Makes the waiting pod pending, because it fits nowhere, and advances to the next one.
  void turn_away();
  std::vector<Settled> take_settled() { return world_->take_settled(); }
  std::size_t pending() const { return pending_.size(); }  // without the current pod
  double pending_s() const { return pending_s_; }          // summed over the pods placed since, or at the end
  World& world() { return *world_; }
  const WorldOptions& world_options() const { return world_options_; }  // of this episode
  const EnvOptions& options() const { return options_; }

 private:
  EnvStep present();
  void go_on();
  void come(Arrivals::Arrival arrival);
  void draw(std::size_t count);
  bool retry();                    // takes a pending pod that is due
  bool advance_to(double when_s);  // advances to when_s, or stops earlier at a due pending pod and returns false

  EnvOptions options_;
  WorldOptions world_options_;
  std::unique_ptr<LiveEngine> engine_;  // for step()
  std::mt19937_64 unused_;              // for ties of unused advice
  std::unique_ptr<World> world_;
  std::optional<Arrivals> arrivals_;
  std::optional<Arrivals::Arrival> arrival_;
  std::deque<Arrivals::Arrival> next_;  // already drawn
  std::deque<SimPod> lost_;
  PendingPods pending_;
  std::optional<double> pending_since_s_;  // of the current pod
  std::vector<std::string> names_;
  std::uint64_t decision_id_ = 0, placed_ = 0;
  double ends_s_ = 0, pending_s_ = 0;
};

}  // namespace wattle::sim
