// What the decider makes of decisions afterwards: would a rival have chosen better, how far was the reward from Q.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/decisions/decider.hpp"
#include "controller/modes/contest_file.hpp"

namespace wattle::controller {

namespace {
constexpr Duration kDriftLasts = std::chrono::minutes(10);
constexpr double kDriftExplores = 3, kMostEpsilon = 0.2;
constexpr double kShiftMemory_s = 600,
                 kShiftedNodes = 0.05;     // a shift of the cluster: so many nodes' curves within that time
constexpr std::int64_t kPartOfTime = 500;  // asks wait while it compares: one part in so many

constexpr const char* kUnproven =
    "the plan's choice: the network has not shown yet that it costs fewer joules on copies of this cluster";

std::uint64_t key_of(const std::string& pod_uid) { return std::hash<std::string>()(pod_uid); }

// What a contest is about.
std::string contest_of(const Standing& standing) { return standing.policy + " " + reward_json(standing.reward).dump(); }

// "7%", "0.3%"
std::string percent(double ratio) {
  const double rounded = std::round(1000 * ratio) / 10;
  const std::string text = std::to_string(rounded);
  return text.substr(0, text.find('.') + 2) + "%";
}
}  // namespace

// One decision a second at most, off the way of answers: what the ranking in force and its rivals would choose now.
void Decider::compare(MonoTime now) {
  const ToCompare what = std::move(*to_compare_);
  to_compare_.reset();
  const NetworkSlot::Serving serving = networks_.serving();
  placement::DecideOptions greedy = options_;
  greedy.epsilon = 0;
  const placement::ClusterView& view = state_.view(what.spec, now);
  const auto choice = [&](const placement::Mind& mind) -> std::optional<RankedChoice> {
    const placement::Advice advice =
        placement::decide(view, what.spec, what.candidates, mind, greedy, figures_.decisions, compare_random_);
    if (!advice.top) return std::nullopt;
    return RankedChoice{advice.record.advice, advice.predictions[advice.row_of[*advice.top]].value()};
  };
  RivalSample sample;
  sample.decision_id = what.id;
  auto own = choice(mind(usable(serving.network)));
  if (!own) return;
  sample.own = std::move(*own);
  for (std::size_t i = 0; i < kRivals.size(); ++i) {
    auto rival = choice({*rival_policies_[i], nullptr, &knowledge_, &index_});
    if (!rival) return;
    sample.rivals[i] = std::move(*rival);
  }
  rivals_.add(std::move(sample));
  contend(what, view, serving);
  const MonoTime done = clock_.mono();
  compare_after_ = done + kPartOfTime * (done - now);
}

// Network and planner place the pod on a copy of the cluster each; who is behind by joules is told by the contest. What the
// planner does not look at (other rewards than energy, latency limits) is kept out.
void Decider::contend(const ToCompare& what, const placement::ClusterView& view, const NetworkSlot::Serving& serving) {
  const models::QNetwork* network = fitting(serving.network);
  const placement::RewardConfig& reward = options_.reward;
  if (network == nullptr || !contested()) return;
  if (what.spec.latency_soft_ms || what.spec.latency_hard_ms || what.spec.daemonset) return;
  const std::string& from = serving.version.loaded_from;
  // A number is the checkpoint of its own that the restart went on from; what is loaded has a name.
  const bool goes_on = std::exchange(contest_restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (!from.empty() && from != contest_from_ && !goes_on) begin_contest_anew("network " + from + " was loaded");
  contest_from_ = from;
  std::vector<std::size_t> rows;
  for (const std::size_t row : index_.find(view, what.candidates))
    if (row != placement::RowIndex::kNoRow) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto figure = twins_.play({view, knowledge_.fleet(view), rows, what.spec, knowledge_.ask(what.spec), reward,
                                   options_.mask, *network, 0, key_of(what.spec.uid), false},
                                  contest_planner_);
  const double behind = contest_.mean();
  if (!figure || !contest_.add(*figure)) return;
  repeats_.clear();
  const std::string over = " predicted joules than the planner's on copies of this cluster, of late in " +
                           std::to_string(contest_.blocks()) + " blocks of decisions";
  if (contest_.left_out()) {
    left_out_why_ = "the plan's choice: the network is left out, its own cost " + percent(behind) + " more" + over;
    notice("guard", "the network is left out, the planner's choices serve", left_out_why_);
  } else {
    left_out_why_.clear();
    notice("guard", "the network serves", "its choices cost " + percent(-behind) + " less" + over);
  }
}

void Decider::begin_contest_anew(const std::string& why) {
  const bool was_left_out = contest_.left_out();
  contest_.begin_anew();
  twins_.begin_anew();
  left_out_why_ = contest_.left_out() ? std::string(kUnproven) : std::string();
  if (was_left_out && !contest_.left_out()) notice("guard", "the network serves again", why);
  if (!was_left_out && contest_.left_out()) notice("guard", "the network is left out until it has proven itself", why);
}

// Of other rewards than energy, and other policies, it knows nothing.
bool Decider::contested() const {
  const placement::RewardConfig& reward = options_.reward;
  return reward.preset == placement::Preset::weighted && reward.weights.energy > 0 && standing_.policy == "dqn";
}

void Decider::came(const placement::PodSpec& spec, const std::string& node, std::size_t row, MonoTime now) {
  if (spec.uid.empty()) return;
  knowledge_.placed(spec, node, now);
  if (!spec.daemonset) twins_.placed(key_of(spec.uid), row, knowledge_.ask(spec), seconds(now.time_since_epoch()));
}

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const double now_s = seconds(now.time_since_epoch());
  const Pod* pod = state_.pod(pod_uid);
  if (!twins_.ended(key_of(pod_uid), now_s) && pod != nullptr && !pod->spec.daemonset)
    if (const Node* node = state_.node(pod->node)) twins_.ended_there(node->row, knowledge_.ask(pod->spec), now_s);
  knowledge_.gone(pod_uid, now);
}

std::string Decider::save_contest() const {
  return contest_text({contest_of(standing_), contest_from_, left_out_why_, contest_.state()});
}

Status Decider::restore_contest(std::string_view text) {
  WATTLE_TRY(const ContestKept kept, parse_contest(text));
  if (kept.of != contest_of(standing_) || !contest_.restore(kept.state)) return {};
  contest_from_ = kept.network;
  contest_restored_ = true;
  left_out_why_ = kept.state.left_out ? kept.why : std::string();
  repeats_.clear();
  return {};
}

void Decider::notice(const char* who, const std::string& what, const std::string& why) const {
  if (notice_) notice_(who, what, why);
}

double Decider::epsilon() const {
  if (left_out()) return 0;
  return drifting() ? std::max(options_.epsilon, std::min(kMostEpsilon, kDriftExplores * options_.epsilon))
                    : options_.epsilon;
}

// Curves fit themselves anew (placement/power_curve); when many do at once, what was learned on them is off too.
void Decider::watch_curves(const placement::ClusterView& view) {
  std::uint64_t shifts = 0;
  for (const placement::NodeView& node : view.nodes) shifts += node.curve.shifts();
  const double passed_s = seconds(kRefreshEvery);
  recent_shifts_ *= std::exp(-passed_s / kShiftMemory_s);
  if (shifts > curve_shifts_) recent_shifts_ += static_cast<double>(shifts - curve_shifts_);
  curve_shifts_ = shifts;
  if (recent_shifts_ < std::max(1.0, kShiftedNodes * static_cast<double>(view.nodes.size()))) return;
  recent_shifts_ = 0;
  begin_drift("the power curves of several nodes have changed");
}

void Decider::begin_drift(const std::string& why) {
  if (drifting()) return;
  ++drifts_;
  const MonoTime now = clock_.mono();
  drift_until_ = now + kDriftLasts;
  learn_(DriftNews{now, *drift_until_});
  notice("drift", "for ten minutes more is explored and newer experience counts more", why);
}

void Decider::judge(std::uint64_t id, const std::string& node, double reward) {
  rivals_.judged(id, node, reward);
  const LoggedDecision* entry = log_.find(id);
  if (entry == nullptr) return;
  for (const wire::Candidate& candidate : entry->decision.candidates)
    if (candidate.node == node && candidate.masked.empty()) {
      q_error_.add(node, reward - candidate.q);
      if (drift_.add(reward - candidate.q)) begin_drift("rewards are off from Q as they were not before");
      return;
    }
}

}  // namespace wattle::controller
