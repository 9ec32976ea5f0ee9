// decider: answers asks, joins decisions to placements and placements to outcomes.
// Rules    the same pod with the same candidates gets the same answer within `repeat_within`. In mode live an advised
//          node reserves the pod until the pod is seen or the expectation expires. Every binding counts as a start on
//          its node (StartWindow). The placement comes from an agent or an operator, never from the decider's own top
//          score; outcomes come from telemetry after the settle window. With an API server, its word on where a pod is
//          takes precedence, and a pod that it shows bound without an ask becomes an observed decision (watched.cpp)
// Wait     if the ask permits it and advice is acted upon, a decision may be to wait (placement/decide/deferral).
//          Deferrals bounds the waiting and repeats the answer until it is time to ask again. Askers that do not permit
//          it, such as shims, never get it
// Next     a decision keeps room for the pods that the ask names as next, or else for up to decide.look_ahead pods of
//          the API server's queue (placement/decide/look_ahead)
// Shadow   advice is reserved on a copy of the cluster (placement/judge/advised_cluster), which later decisions use.
//          Learning uses the real cluster and what was expected of the placement there
// Errors   none: a decision that cannot be made is neutral and gives the reason
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/stats/bucket_counts.hpp"
#include "common/wire/messages.hpp"
#include "controller/config.hpp"
#include "controller/decisions/contender.hpp"
#include "controller/decisions/decision_log.hpp"
#include "controller/decisions/deferrals.hpp"
#include "controller/decisions/network_monitors.hpp"
#include "controller/decisions/news.hpp"
#include "controller/decisions/open_decisions.hpp"
#include "controller/decisions/outcome_windows.hpp"
#include "controller/decisions/recalled_pods.hpp"
#include "controller/decisions/repeats.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

inline constexpr std::array kDecideBounds_s{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                            0.01,    0.025,  0.05,    0.1,    0.25,  1.0};

struct DeciderFigures {
  std::uint64_t asks = 0, repeated = 0, decisions = 0;
  std::map<std::string, std::uint64_t, std::less<>> decided_by;  // the decisions, by placement::kDeciders
  std::uint64_t placements = 0;                                  // pods that an agent or operator reported
  std::uint64_t placements_unasked = 0;                          // of those, without an ask
  std::uint64_t observed = 0;                                    // of those, recorded as observed decisions
  std::uint64_t placements_beyond = 0;                           // reported by agents, ignored: the node has kMaxPods
  std::uint64_t placements_masked = 0;  // on a node that the masks had excluded; not learned from
  std::uint64_t outcomes = 0, outcomes_lost = 0;
  std::map<std::string, std::uint64_t> outcomes_failed;  // of the outcomes, by how
  std::deque<double> decide_us;                          // of the last decisions
  stats::BucketCounts<kDecideBounds_s.size()> decide_s{kDecideBounds_s};
  std::deque<double> rewards;  // of the last outcomes
  std::deque<MonoTime> decided_at;

  void rewarded(double reward);
  std::optional<double> mean_reward() const;         // of the last outcomes
  std::uint64_t by(std::string_view decider) const;  // one of placement::kDeciders
};

class Decider {
 public:
  static constexpr Duration kRefreshEvery = std::chrono::seconds(1);  // of knowledge, plans and comparisons
  // `knowledge` was restored from before the restart.
  Decider(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, const Clock& clock,
          std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
          placement::ClusterModel knowledge = placement::ClusterModel());

  wire::Suggestion ask(wire::Ask ask);
  // An agent saw the pod's cgroup, or an operator confirmed. Returns false if the placement is known already or the
  // node is unknown.
  bool placed(const std::string& pod_uid, const std::string& node, bool by_operator);
  // A confirmed workload that ran there before the controller was restarted.
  bool resumed(const std::string& pod_uid, const std::string& node);
  void gone(const std::string& pod_uid, const std::string& node);

  // The API server has the pod, bound or not. `unschedulable`: its scheduler found no node for it. `nominated`: the
  // node on which the API server expects it, or empty.
  void described(const placement::PodSpec& pod, bool unschedulable = false, const std::string& nominated = {});
  // The API server shows the pod bound to a node. `followed`: the pod was bound just now; false if a list shows it, as
  // after a start.
  bool bound(const std::string& pod_uid, const std::string& node, bool followed);
  // The API server reports that the pod could not run or stay on its node; `how` is a kube::PodFailure.
  void failed(const std::string& pod_uid, std::string_view how);
  // The API server has deleted the pod, or the pod has ended.
  void deleted(const std::string& pod_uid);
  // The pod is bound to a node without an agent.
  void elsewhere(const std::string& pod_uid);

  // A node said Hello; restores its known curve.
  void greeted(const wire::Hello& hello);
  void record(const std::string& node, const Record& record, const RecordNews& news);
  void expire();
  std::vector<wire::BoardClass> board();
  // Returns the decision for a pod under the given pod spec and reward, in the form of a log entry, without recording,
  // reserving or learning anything. A running pod is evaluated as if it were not on its node.
  LoggedDecision what_if(placement::PodSpec pod, std::vector<std::string> candidates,
                         const placement::RewardConfig& reward);
  // Sets the number of starts still allowed on each node of the board.
  void tell_starts(wire::Board& board);
  // Makes class `number` of placement::kBoardClassCores; asks wait meanwhile.
  wire::BoardClass board_class(std::size_t number);

  const DecisionLog& log() const { return log_; }
  // Adds a decision from before the restart. Call in the order of ids, before the first decision.
  void recall(LoggedDecision entry);
  // Adds a pod that ran before the restart; it is recognised when it is seen again.
  void recall(const PodFacts& pod) { recalled_pods_.add(pod); }
  const DeciderFigures& figures() const { return figures_; }
  const std::string& policy() const { return spec_.policy; }
  const placement::PolicyInfo& policy_info() const { return engine_.policy(); }
  // True if a network of the policy's kind and of the reward preset exists.
  bool has_network() const { return heard().network != nullptr; }
  // Applies mode, policy and reward from the next decision on; the policy must exist.
  void take(const RolloutSpec& spec);
  std::uint64_t takes() const { return takes_; }
  const RolloutSpec& spec() const { return spec_; }
  // Sets the maker of the policies' plans; it must outlive the decider. Without one, asks wait for plans.
  void plan_with(placement::PlanMaker& maker);
  // The arm that applies now, which determines whether advice may be acted upon.
  ArmNow arm() const { return arm_at(spec_, clock_.wall()); }
  // `decided` is called with the largest residual of each decision (false: the answer must be neutral), `judged` with
  // the reward of each outcome. Both may call take().
  void on_verdict(std::function<bool(const ArmNow&, double)> decided,
                  std::function<void(const ArmNow&, double)> judged) {
    decided_ = std::move(decided);
    judged_ = std::move(judged);
  }
  // `report` is called when a gate of the network changes its verdict.
  void on_event(std::function<void(const MonitorEvent&)> report) { monitors_.on_event(std::move(report)); }
  // `placed` is called at each placement that begins now, not for pods that a list or a node's first record shows
  // running.
  void on_placed(std::function<void(const placement::PodSpec& pod, const std::string& node)> placed) {
    placed_ = std::move(placed);
  }
  // `left` is called for each pod that leaves the node on which it was seen.
  void on_left(std::function<void(const placement::PodSpec& pod)> left) { left_ = std::move(left); }
  const stats::NetworkTrial& network_gate() const { return engine_.gates().network_test(); }
  const placement::PlanRecord& plan_record() const { return engine_.gates().plan_record(); }
  const stats::NetworkTrial& learned_network_gate() const { return engine_.gates().learned_test(); }
  // The recent blocks that contenders() shows.
  const placement::RecentBlocks& recent() const { return engine_.gates().recent(); }
  const placement::RecentBlocks& recent_learned() const { return engine_.gates().recent_learned(); }
  // The network that serves the policy at present, or null; its gates may still exclude it (see below).
  struct Heard {
    ServingModel::Network network;
    ModelVersion version;
    bool learned = false;  // learned here, unlike the initial network
  };
  Heard heard() const;
  // States of the network that learning began with and of the one learned on this cluster; no value: there is none.
  struct NetworkStates {
    std::optional<stats::NetworkState> baseline, learned;
  };
  NetworkStates network_states() const;
  // The policy or network that serves, followed by those that might; empty if no network is consulted.
  std::vector<Contender> contenders() const;
  // Returns whether the network is gated, and why; the reason is empty if it is not gated.
  bool network_gated() const { return engine_.gated(); }
  const std::string& network_gated_why() const { return engine_.gated_why(); }
  // Saves and restores monitors over a restart. State of another policy or reward is ignored, so that its network gate
  // and comparison start from scratch. restore() ignores unknown names.
  std::vector<MonitorState> monitors() const;
  Status restore(const MonitorState& state);
  // Exploration of decisions made now: raised for a while after a shift, zero while the network is excluded.
  double epsilon() const;
  const placement::ClusterModel& knowledge() const { return engine_.cluster_model(); }
  // Energy compared in the canary's control block; no value if no canary runs.
  std::optional<placement::ComparedEnergy> compared() const { return engine_.shadow().compared(); }
  // Modelled saving of acting on the advice; null outside of shadow.
  const placement::ModelledSaving* saving() const { return engine_.shadow().saving(); }
  std::string save_knowledge() { return engine_.cluster_model().save(state_.view({}, clock_.mono())); }
  const placement::DecideOptions& options() const { return engine_.options(); }
  // Takes the ids of decisions added or extended since the last call.
  std::set<std::uint64_t> take_changed() { return std::exchange(changed_, {}); }

 private:
  enum class PlacementSource { by_agent, by_operator, by_binding, by_list, by_store };

  void follow_block();
  wire::Suggestion decide(wire::Ask ask, MonoTime now);
  bool place(const std::string& pod_uid, const std::string& node, PlacementSource told);
  // Returns true if the pod was unknown and is restored from before the restart.
  bool recall_pod(const std::string& pod_uid, const std::string& node);
  // If shadow's copy of the cluster differs from the cluster: replaces `advice` by the one to give and returns the
  // decision to learn from.
  std::optional<OpenDecision> go_by_copy(placement::PlacementDecision& advice, const placement::ClusterView& view,
                                         const placement::PodSpec& spec, const models::QNetwork* network,
                                         double epsilon, std::span<const std::size_t> rows,
                                         const placement::Ahead& ahead);
  // Pods that come next: those that the ask names, or else those of the API server's queue.
  std::vector<placement::PodSpec> next_pods(const wire::Ask& ask) const;
  // Makes an observed decision; returns 0 if there is none to make.
  std::uint64_t observe(placement::PodSpec pod, const std::string& node, MonoTime now);
  // Settles the outcomes of these windows.
  void settle(const std::vector<SettleWindow>& windows);
  void settled(const SettleWindow& window, placement::RawOutcome raw);
  void refresh(MonoTime now);
  // Restores the reservations of shadow's advice from before a restart, for running pods whose nodes are known.
  void follow_recalled(MonoTime now);
  // The pod has stopped running.
  void left(const std::string& pod_uid, MonoTime now);
  // True if the network belongs to the policy and was trained for the reward preset; after a change the trainer
  // replaces it.
  bool fits(const ServingModel::Network& network, const ModelVersion& version) const {
    const bool judged_so = version.preset.empty() || version.preset == placement::to_string(spec_.reward.preset);
    return network != nullptr && judged_so && config_.learn.tabular == (spec_.policy == "tabular-q");
  }

  const ControllerConfig& config_;
  ClusterState& state_;
  const ServingModel& networks_;
  const Clock& clock_;
  std::function<void(LearningNews)> learn_;
  std::mt19937_64 random_;
  placement::DecisionEngine engine_;
  MonoTime refreshed_{}, state_expired_{};
  NetworkMonitors monitors_;
  std::function<void(const placement::PodSpec&, const std::string&)> placed_;
  std::function<void(const placement::PodSpec&)> left_;
  RolloutSpec spec_;
  std::function<bool(const ArmNow&, double)> decided_;
  std::function<void(const ArmNow&, double)> judged_;
  DecisionLog log_;
  DeciderFigures figures_;
  std::uint64_t watched_ = 0;  // placements whose outcome was or is watched
  std::uint64_t next_id_, takes_ = 0;
  Repeats repeats_;
  Deferrals deferrals_;
  OpenDecisions open_;
  OutcomeWindows windows_;
  std::set<std::uint64_t> changed_;
  RecalledPods recalled_pods_;
  std::map<std::string, std::string>
      recalled_;  // pod UID -> where shadow advised it before a restart; as many as the log has
};

// A request limited to the size of any real machine, so that sums stay valid.
placement::Resources sane_request(double cpu_cores, double memory_bytes);

}  // namespace wattle::controller
