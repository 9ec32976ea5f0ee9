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

// What a contest is about.
std::string contest_of(const Standing& standing) { return standing.policy + " " + reward_json(standing.reward).dump(); }
}  // namespace

// One decision a second at most, off the way of answers: what the ranking in force and its rivals would choose now.
void Decider::compare(MonoTime now) {
  const ToCompare what = std::move(*to_compare_);
  to_compare_.reset();
  const NetworkSlot::Serving serving = networks_.serving();
  placement::DecideOptions greedy = engine_.options();
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
  auto own = choice(engine_.mind(fitting(serving.network)));
  if (!own) return;
  sample.own = std::move(*own);
  for (std::size_t i = 0; i < kRivals.size(); ++i) {
    auto rival = choice({*rival_policies_[i], nullptr, &engine_.knowledge(), &engine_.index()});
    if (!rival) return;
    sample.rivals[i] = std::move(*rival);
  }
  rivals_.add(std::move(sample));
  contend(what, view, serving);
  const MonoTime done = clock_.mono();
  compare_after_ = done + kPartOfTime * (done - now);
}

// Network and planner place the pod on a copy of the cluster each; who is behind by joules is told by the contest.
void Decider::contend(const ToCompare& what, const placement::ClusterView& view, const NetworkSlot::Serving& serving) {
  const models::QNetwork* network = fitting(serving.network);
  if (network == nullptr || !engine_.contested(what.spec)) return;
  const std::string& from = serving.version.loaded_from;
  // A number is the checkpoint of its own that the restart went on from; what is loaded has a name.
  const bool goes_on = std::exchange(contest_restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (!from.empty() && from != contest_from_ && !goes_on) engine_.begin_gate_anew("network " + from + " was loaded");
  contest_from_ = from;
  if (engine_.compare(view, what.spec, what.candidates, *network)) repeats_.clear();
}

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.left(pod_uid, pod != nullptr ? &pod->spec : nullptr,
               node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

std::string Decider::save_contest() const {
  return contest_text({contest_of(standing_), contest_from_, engine_.gated_why(), engine_.contest().state()});
}

Status Decider::restore_contest(std::string_view text) {
  WATTLE_TRY(const ContestKept kept, parse_contest(text));
  if (kept.of != contest_of(standing_) || !engine_.restore_gate(kept.state, kept.why)) return {};
  contest_from_ = kept.network;
  contest_restored_ = true;
  repeats_.clear();
  return {};
}

void Decider::notice(const char* who, const std::string& what, const std::string& why) const {
  if (notice_) notice_(who, what, why);
}

double Decider::epsilon() const {
  if (left_out()) return 0;
  const double usual = engine_.options().epsilon;
  return drifting() ? std::max(usual, std::min(kMostEpsilon, kDriftExplores * usual)) : usual;
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
