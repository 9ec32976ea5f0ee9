// decider: answers asks, joins decisions to placements and placements to outcomes.
// Rules    the same pod and candidates within `repeat_within` get the same answer; in mode live an advised node holds the
//          pod in flight until it is seen or the expectation expires, and whatever is bound counts as a start there (StartWindow); the real placement comes from an agent or an
//          operator, never from our own top score; outcomes come from telemetry after the settle window. Where an API server is
//          followed it has the last word on where a pod is, and a pod that it shows bound though nobody asked is an observed
//          decision: what we would have advised, and the placement to learn from (watched.cpp)
// Wait     where an ask permits it and what is advised is acted upon, a decision may be to wait (placement/deferral): bounded by Deferrals,
//          answered again alike until it is time to ask again. Who permits nothing, such as a shim, is never told to wait
// Next     pods that the ask names as coming next, else up to decide.look_ahead of those that wait in the API server's queue, are room that
//          the decision keeps (placement/look_ahead)
// Shadow   what was advised is reserved on a copy of the cluster (placement/advised_cluster), by which the next decision goes; what is learned
//          from a placement is the cluster as it was, and what was expected of it there
// Errors   none: a decision that cannot be made is neutral and says why
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
#include "controller/decisions/decision_monitors.hpp"
#include "controller/decisions/deferrals.hpp"
#include "controller/decisions/news.hpp"
#include "controller/decisions/open_decisions.hpp"
#include "controller/decisions/outcome_windows.hpp"
#include "controller/decisions/recalled_pods.hpp"
#include "controller/decisions/repeats.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decision_engine.hpp"

namespace wattle::controller {

inline constexpr std::array kDecideBounds_s{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                            0.01,    0.025,  0.05,    0.1,    0.25,  1.0};

struct DeciderFigures {
  std::uint64_t asks = 0, repeated = 0, decisions = 0;
  std::map<std::string, std::uint64_t, std::less<>> decided_by;  // the decisions, by placement::kDeciders
  std::uint64_t placements = 0;                                  // pods that an agent or operator showed us
  std::uint64_t placements_unasked = 0;                          // of which nobody had asked
  std::uint64_t observed = 0;                                    // of which became decisions all the same
  std::uint64_t placements_beyond = 0;                           // told by agents, not taken: the node has kMaxPods
  std::uint64_t placements_masked = 0;  // on a node that our masks had excluded: nothing to learn from
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
  // `knowledge` is what a restart brought.
  Decider(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, const Clock& clock,
          std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
          placement::ClusterModel knowledge = placement::ClusterModel());

  wire::Suggestion ask(wire::Ask ask);
  // An agent saw the pod's cgroup, or an operator confirmed. False: that is no news, or the node is unknown.
  bool placed(const std::string& pod_uid, const std::string& node, bool by_operator);
  // A confirmed workload that ran there before the controller was restarted.
  bool resumed(const std::string& pod_uid, const std::string& node);
  void gone(const std::string& pod_uid, const std::string& node);

  // The API server has the pod, bound or not. `unschedulable`: its scheduler found no node for it. `nominated`: the node that it is expected
  // on; empty: none is named.
  void described(const placement::PodSpec& pod, bool unschedulable = false, const std::string& nominated = {});
  // It shows the pod bound to a node. `followed`: it has just been bound; false: a list shows it, as after a start.
  bool bound(const std::string& pod_uid, const std::string& node, bool followed);
  // It says that the pod could not run, or stay, where it is bound: how (kube::PodFailure).
  void failed(const std::string& pod_uid, std::string_view how);
  // It has the pod no more, or the pod has ended.
  void deleted(const std::string& pod_uid);
  // It is bound where no agent speaks.
  void elsewhere(const std::string& pod_uid);

  // A node said Hello: it gets the curve that is known of it.
  void greeted(const wire::Hello& hello);
  void record(const std::string& node, const Record& record, const RecordNews& news);
  void expire();
  std::vector<wire::BoardClass> board();
  // What a pod would be advised now were it or were rewards so, as its log entry would have it: nothing is recorded, expected or
  // learned. One that runs is thought away from where it does.
  LoggedDecision what_if(placement::PodSpec pod, std::vector<std::string> candidates,
                         const placement::RewardConfig& reward);
  // How many starts the nodes that the board names may still be given.
  void tell_starts(wire::Board& board);
  // Of placement::kBoardClassCores, the one of that number: asks wait while it is made.
  wire::BoardClass board_class(std::size_t number);

  const DecisionLog& log() const { return log_; }
  // One of before a restart, in the order of their ids, before anything is decided.
  void recall(LoggedDecision entry);
  // A pod that ran then: it is known again when it is seen.
  void recall(const PodFacts& pod) { recalled_pods_.add(pod); }
  const DeciderFigures& figures() const { return figures_; }
  const std::string& policy() const { return spec_.policy; }
  const placement::PolicyInfo& policy_info() const { return engine_.policy(); }
  // A network of the policy's kind and of the reward preset is there.
  bool has_network() const { return heard().network != nullptr; }
  // Mode, policy and reward from the next decision on; a policy that there is.
  void take(const RolloutSpec& spec);
  std::uint64_t takes() const { return takes_; }
  const RolloutSpec& spec() const { return spec_; }
  // Who makes the policies' plans from now on; it outlives this. Without one, asks wait for them.
  void plan_with(placement::PlanMaker& maker);
  // Whether what is advised now may be acted upon.
  ArmNow arm() const { return arm_at(spec_, clock_.wall()); }
  // Hears of each decision with the largest residual (false: the answer must be neutral) and of each outcome's reward.
  // They may call take().
  void on_verdict(std::function<bool(const ArmNow&, double)> decided,
                  std::function<void(const ArmNow&, double)> judged) {
    decided_ = std::move(decided);
    judged_ = std::move(judged);
  }
  // Hears of what its monitors find: the network gate and drift.
  void on_event(std::function<void(const MonitorEvent&)> told) { monitors_.on_event(std::move(told)); }
  // Hears of each placement that begins now: not of what a list, or a node's first record, shows to run.
  void on_placed(std::function<void(const placement::PodSpec& pod, const std::string& node)> placed) {
    placed_ = std::move(placed);
  }
  // Likewise of each that leaves the node it was seen on.
  void on_left(std::function<void(const placement::PodSpec& pod)> left) { left_ = std::move(left); }
  const placement::SequentialTest& network_gate() const { return engine_.network_gate(); }
  const placement::PlanRecord& plan_record() const { return engine_.plan_record(); }
  const placement::SequentialTest& learned_network_gate() const { return engine_.learned_network_gate(); }
  // What contenders() shows of them.
  const placement::RecentBlocks& recent() const { return engine_.recent(); }
  const placement::RecentBlocks& recent_learned() const { return engine_.recent_learned(); }
  // The network that a decision of now would be made with, if it serves the policy; that its gates may keep it from being heard is told
  // below. Null: none.
  struct Heard {
    ServingModel::Network network;
    ModelVersion version;
    bool learned = false;  // here, and not what learning began with
  };
  Heard heard() const;
  // What serves and what might, the one that serves first; empty: no network is asked.
  std::vector<Contender> contenders() const;
  // Whether the network is gated, and why; empty: it is.
  bool network_gated() const { return engine_.gated(); }
  const std::string& network_gated_why() const { return engine_.gated_why(); }
  // Over a restart: of another policy or reward network gate and comparison are not taken, and begin anew. A name that it does not
  // keep is not looked at.
  std::vector<MonitorState> monitors() const;
  Status restore(const MonitorState& state);
  // Exploration of decisions that are made now: more for a while after a shift, none while the network is left out.
  double epsilon() const;
  bool drifting() const { return monitors_.drifting(); }
  std::uint64_t drifts() const { return monitors_.drifts(); }
  const placement::ClusterModel& knowledge() const { return engine_.knowledge(); }
  // What recent decisions say of the ranking in force.
  const placement::OffPolicyComparison& off_policy() const { return monitors_.off_policy(); }
  // Of the control block of a canary that runs; absent: none does.
  std::optional<placement::ComparedEnergy> compared() const { return engine_.compared(); }
  // What acting would save, modelled; null: not in shadow.
  const placement::ModelledSaving* saving() const { return engine_.saving(); }
  std::string save_knowledge() { return engine_.knowledge().save(state_.view({}, clock_.mono())); }
  const placement::DecideOptions& options() const { return engine_.options(); }
  // Ids of decisions that are new or know more since the last call.
  std::set<std::uint64_t> take_changed() { return std::exchange(changed_, {}); }

 private:
  enum class PlacementSource { by_agent, by_operator, by_binding, by_list, by_store };

  void follow_block();
  wire::Suggestion decide(wire::Ask ask, MonoTime now);
  bool place(const std::string& pod_uid, const std::string& node, PlacementSource told);
  // True: the pod was not known, and a restart brought it.
  bool recall_pod(const std::string& pod_uid, const std::string& node);
  // In shadow, where the copy of what was advised is another than the cluster: `advice` becomes the one to give; what to learn from.
  std::optional<OpenDecision> go_by_copy(placement::PlacementDecision& advice, const placement::ClusterView& view,
                                         const placement::PodSpec& spec, const models::QNetwork* network,
                                         double epsilon, std::span<const std::size_t> rows,
                                         const placement::Ahead& ahead);
  // Who comes after the pod: as the ask says, else as the API server's queue has it.
  std::vector<placement::PodSpec> next_pods(const wire::Ask& ask) const;
  // The decision that nobody asked for; 0: there is none to make.
  std::uint64_t observe(placement::PodSpec pod, const std::string& node, MonoTime now);
  // What became of them.
  void settle(const std::vector<SettleWindow>& windows);
  void settled(const SettleWindow& window, placement::RawOutcome raw);
  void refresh(MonoTime now);
  // What shadow advised before a restart, of pods that run and whose nodes are known by now.
  void follow_recalled(MonoTime now);
  // The pod runs no more.
  void left(const std::string& pod_uid, MonoTime now);
  // The network serves the policy and the reward preset that it was made for; after a change the trainer puts the other in.
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
  DecisionMonitors monitors_;
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

// What may be added up: requests beyond any machine are cut.
placement::Resources sane_request(double cpu_cores, double memory_bytes);

}  // namespace wattle::controller
