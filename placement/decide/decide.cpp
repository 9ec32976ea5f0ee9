// decide: masks, Q, advice, and the record that explains the decision.
#include "placement/decide/decide.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/sane_view.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/worth/objective.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::placement {
namespace {

constexpr std::size_t kNoRow = RowIndex::kNoRow;
constexpr double kTie = 1e-6;                                              // resolution of networks in float
constexpr double kTieShare = 4.0 * std::numeric_limits<float>::epsilon();  // the same for large values
// Limit of values, so that differences stay finite.
constexpr double kBound = 1e30;

struct Rows {
  std::vector<std::size_t>& node;  // index into view.nodes; a member of the decision
  std::vector<std::string_view> masked;
  std::vector<std::size_t> feasible;  // rows
  bool avoids = false;                // soft masks exclude nodes that could take the pod
};

Rows find_rows(const ClusterView& view, const PodSpec& pod, const MaskOptions& mask, const PolicyInputs& inputs,
               PlacementDecision& advice) {
  Rows rows{advice.node, {}, {}, false};
  RowIndex own;
  const auto found = inputs.rows.size() == advice.candidates.size() && !inputs.rows.empty()
                         ? inputs.rows
                         : (inputs.index != nullptr ? *inputs.index : own).find(view, advice.candidates);
  std::vector<std::size_t> row_of_node(view.nodes.size(), kNoRow);
  rows.node.reserve(found.size());
  rows.masked.reserve(found.size());
  rows.feasible.reserve(found.size());
  advice.row_of.assign(found.size(), kNoRow);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == RowIndex::kNoRow) continue;
    std::size_t& row = row_of_node[found[i]];
    const bool fresh = row == kNoRow;
    if (fresh) row = rows.node.size();
    advice.row_of[i] = row;
    if (!fresh) continue;  // duplicate name
    const NodeView& node = view.nodes[found[i]];
    rows.node.push_back(found[i]);
    // The current node of a bound pod is always feasible.
    rows.masked.push_back(!pod.node_name.empty() && node.name == pod.node_name ? std::string_view{}
                                                                               : mask_reason(node, pod, mask));
  }
  rows.avoids = add_soft_masks(view, rows.node, pod, mask.owner_share, rows.masked);
  for (std::size_t row = 0; row < rows.node.size(); ++row)
    if (rows.masked[row].empty()) rows.feasible.push_back(row);
  return rows;
}

// ValueRange of the feasible rows' values.
struct ValueRange {
  double best = -INFINITY, worst = INFINITY;
  double tie() const { return std::max(kTie, kTieShare * std::abs(best)); }
  bool distinguishes() const { return best - worst > tie(); }
};

ValueRange range_of(const std::vector<std::size_t>& feasible, const std::vector<double>& values) {
  ValueRange range;
  for (const std::size_t row : feasible) {
    range.best = std::max(range.best, values[row]);
    range.worst = std::min(range.worst, values[row]);
  }
  return range;
}

struct Choice {
  std::size_t row = 0;
  double propensity = 0;
  bool explored = false;
};

Choice choose(const std::vector<std::size_t>& feasible, const std::vector<double>& values, const ValueRange& range,
              double epsilon, double safe_margin, std::mt19937_64& random) {
  std::vector<std::size_t> ties, safe;
  for (const std::size_t row : feasible) {
    if (values[row] >= range.best - range.tie()) ties.push_back(row);
    if (values[row] >= range.best - std::max(safe_margin, range.tie())) safe.push_back(row);
  }
  const auto pick = [&random](const std::vector<std::size_t>& from) {
    return from.size() == 1 ? from.front()
                            : from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
  };
  const bool explore = epsilon > 0 && std::uniform_real_distribution<double>(0, 1)(random) < epsilon;
  Choice choice;
  choice.row = pick(explore ? safe : ties);
  const bool greedy = std::find(ties.begin(), ties.end(), choice.row) != ties.end();
  choice.explored = !greedy;
  choice.propensity =
      (greedy ? (1 - epsilon) / static_cast<double>(ties.size()) : 0.0) + epsilon / static_cast<double>(safe.size());
  return choice;
}

// Returns the value that a row must exceed to be ranked. Ties at the last rank are all excluded.
double above_rank(const std::vector<std::size_t>& feasible, const std::vector<double>& values) {
  if (feasible.size() <= kRanked) return -INFINITY;
  std::vector<double> sorted;
  sorted.reserve(feasible.size());
  for (const std::size_t row : feasible) sorted.push_back(values[row]);
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(kRanked);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  return *last;
}

// Returns 10 for the advised row and 0..5 for the best of the other open rows. With a limit, returns the limit for the
// advised row.
std::vector<std::int64_t> scores_of(const std::vector<std::size_t>& open, std::size_t rows,
                                    const std::vector<double>& values, const ValueRange& range, std::size_t advised,
                                    std::int64_t limit) {
  std::vector<std::int64_t> scores(rows, 0);
  if (limit > 0 && limit < kTopScore) {
    scores[advised] = limit;
    return scores;
  }
  const double above = above_rank(open, values);
  for (const std::size_t row : open) {
    if (row != advised && !(values[row] > above)) continue;
    const double share = range.distinguishes() ? (values[row] - range.worst) / (range.best - range.worst) : 1.0;
    scores[row] = row == advised ? kTopScore : static_cast<std::int64_t>(std::lround(5 * share));
  }
  return scores;
}

std::string kept_room(std::size_t kept, std::uint64_t next) {
  return "; " + std::to_string(kept) + (kept == 1 ? " node is" : " nodes are") + " left free for the next " +
         (next == 1 ? "pod" : std::to_string(next) + " pods") + ", which would otherwise find no room or wake a node";
}

std::string neutral_reason(const PlacementDecision& advice, const Rows& rows) {
  if (advice.candidates.empty()) return "no candidates";
  if (rows.node.empty()) return "no candidate is a known node";
  std::string reason = "no candidate is feasible: " + std::string(rows.masked.front());
  for (const std::string_view masked : rows.masked) {
    if (masked != rows.masked.front()) return reason + ", and others";
  }
  return reason;
}

void record_candidates(PlacementDecision& advice, const Rows& rows, const std::vector<Prediction>& predictions,
                       const std::vector<double>& residual, const std::vector<std::int64_t>& scores,
                       std::span<const RoomLoss> losses = {}) {
  advice.scores.assign(advice.candidates.size(), 0);
  advice.record.candidates.reserve(rows.node.size() + kUnknownRecorded);
  std::size_t unknown = 0, recorded_rows = 0;
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    const std::size_t row = advice.row_of[i];
    const bool known = row != kNoRow;
    if (known && rows.masked[row].empty() && !scores.empty()) advice.scores[i] = scores[row];
    // Rows are numbered by first occurrence.
    if (known ? row < recorded_rows : ++unknown > kUnknownRecorded) continue;
    recorded_rows += known ? 1 : 0;
    advice.recorded.push_back(row);
    wire::Candidate& entry = advice.record.candidates.emplace_back();
    entry.node = advice.candidates[i];
    if (!known) {
      entry.masked = "unknown node";
      continue;
    }
    entry.masked = rows.masked[row];
    entry.marginal_w = predictions[row].marginal_with_wake_w;
    if (!entry.masked.empty()) continue;
    if (!losses.empty()) entry.leaves_out = losses[row].left_out;
    if (!losses.empty()) entry.wakes_for_next = losses[row].woken;
    entry.prior = static_cast<double>(advice.observation.prior[row]);
    entry.residual = residual[row];
    entry.q = entry.prior + entry.residual;
    entry.score = advice.scores[i];
  }
  if (unknown > kUnknownRecorded)
    advice.record.problems.push_back(std::to_string(unknown) + " candidates are unknown nodes; listing the first " +
                                     std::to_string(kUnknownRecorded));
}

// The feasible rows with the least room loss for the next pods, and the losses of all rows.
struct Open {
  std::vector<std::size_t> rows;
  std::vector<RoomLoss> losses;  // by row; empty: there are no next pods
};

Open keep_room(const ClusterView& view, const PodSpec& pod, const Rows& rows, const PolicyInputs& inputs,
               const MaskOptions& mask) {
  Open open{rows.feasible, {}};
  if (inputs.ahead.next.empty() || !pod.node_name.empty()) return open;
  open.losses = room_losses(view, rows.node, rows.feasible, pod, inputs.ahead.next, mask);
  RoomLoss least = open.losses[rows.feasible.front()];
  for (const std::size_t row : rows.feasible) least = std::min(least, open.losses[row]);
  const auto costs_more = [&](std::size_t row) { return open.losses[row] > least; };
  open.rows.erase(std::remove_if(open.rows.begin(), open.rows.end(), costs_more), open.rows.end());
  return open;
}

std::optional<Deferral> may_wait(const ClusterView& view, const PodSpec& pod, const Rows& rows, const Open& open,
                                 const std::vector<double>& values, const PolicyInputs& inputs,
                                 PolicyContext& context) {
  if (!(inputs.ahead.defer_s > 0) || !pod.node_name.empty()) return std::nullopt;
  std::optional<std::size_t> best;
  for (const std::size_t row : open.rows)
    if (!best || values[row] > values[*best]) best = row;
  DeferQuestion question{view, context.fleet(), rows.node, rows.masked, best, pod, context.ask()};
  if (inputs.cluster_model != nullptr) question.wait_limit = inputs.cluster_model->pod_time().cpu_wait().limit();
  question.permitted_s = inputs.ahead.defer_s;
  return deferral(question);
}

void defer(PlacementDecision& advice, const RankedBy& by, Deferral wait) {
  advice.record.reason = "deferred: " + wait.why;
  advice.record.decided_by = decided_by(by, Verdict::deferred);
  advice.record.defer_ms = wait.again_s * 1e3;
  advice.deferred = std::move(wait);
}

}  // namespace

PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                         const PolicyInputs& inputs, const DecideOptions& options, std::uint64_t turn,
                         std::mt19937_64& random) {
  PlacementDecision advice;
  advice.candidates = std::move(candidates);
  wire::Decision& record = advice.record;
  record.pod_uid = pod.uid;
  record.pod_name = pod.name;
  record.pod_namespace = pod.pod_namespace;
  const PolicyInfo& policy = inputs.policy.info();
  record.policy = policy.name;
  const PodSpec asked = with_sane_limits(pod, record.problems);
  const Rows rows = find_rows(view, asked, options.mask, inputs, advice);
  const bool with_network = policy.learns && inputs.network != nullptr;
  RewardConfig reward = options.reward;
  if (with_network) reward.with_prior = reward.with_prior && inputs.network->on_prior();
  // A plan is about energy: networks of presets without an energy weight are trained without one.
  PolicyContext context(view, asked, rows.node, rows.feasible, inputs.cluster_model, turn);
  context.copy = inputs.copy;
  std::optional<PlanView> plan;
  if (reward.preset == Preset::weighted && !rows.feasible.empty()) plan = inputs.policy.plan_view(context);
  context.plan = plan ? &*plan : nullptr;
  FactsOfNodes own;
  FactsOfNodes& known = inputs.facts != nullptr ? *inputs.facts : own;
  known.look(view, rows.node, inputs.facts != nullptr && inputs.copy == nullptr);
  std::vector<Prediction> predictions =
      predict_watts(reward, view, rows.node, known, asked, plan ? plan->demand_cores : demand_cores(asked));
  if (inputs.cluster_model != nullptr && inputs.cluster_model->pod_time().cpu_wait().price() > 0)
    for (std::size_t row = 0; row < predictions.size(); ++row)
      predictions[row].amortised_w += context.added_wait_w(row);
  judge(reward, view, rows.node, asked, predictions);
  if (inputs.cluster_model != nullptr) price_latency(inputs.cluster_model->pod_time().latency_price(), predictions);
  advice.observation = observe(view, rows.node, known, asked, rows.masked, predictions, reward, context.plan);
  std::vector<double> residual(rows.node.size(), 0.0);
  record.next_pods = std::min(inputs.ahead.next.size(), kMaxAhead);
  RankedBy by{.policy = policy,
              .preset = reward.preset,
              .gate = policy.learns ? inputs.gate : std::string_view(),
              .by_rule = inputs.chooser != nullptr && inputs.chooser->name() != "planner",
              .with_network = with_network,
              .planned = plan.has_value(),
              .life_known = asked.life_s.has_value()};
  if (rows.feasible.empty()) {
    record.reason = neutral_reason(advice, rows);
    record.decided_by = decided_by(by, Verdict::neutral);
    if (auto wait = may_wait(view, asked, rows, {}, {}, inputs, context)) defer(advice, by, std::move(*wait));
    record_candidates(advice, rows, predictions, residual, {});
    advice.predictions = std::move(predictions);
    return advice;
  }

  std::vector<double> q(rows.node.size(), 0.0);
  if (with_network) {
    std::vector<float> out(rows.node.size(), 0.0F);
    Shortlisted(*inputs.network, inputs.shortlist).residual(advice.observation, out);
    by.silent = models::is_flat(advice.observation, out);
    for (const std::size_t row : rows.feasible) {
      const double said = static_cast<double>(out[row]);
      residual[row] = std::isfinite(said) ? said : 0.0;
      advice.max_abs_residual = std::max(advice.max_abs_residual, std::isfinite(said) ? std::abs(said) : INFINITY);
    }
  }
  for (const std::size_t row : rows.feasible)
    q[row] = static_cast<double>(advice.observation.prior[row]) + residual[row];

  const double epsilon = policy.explores ? std::clamp(options.epsilon, 0.0, 1.0) : 0.0;
  std::vector<double>& values = advice.values;
  values.assign(rows.node.size(), 0.0);
  context.q = q;
  context.silent = !with_network || by.silent;
  (inputs.chooser != nullptr ? *inputs.chooser : inputs.policy).score(context, values);
  // Values that are not finite, from bad telemetry, rank last.
  for (double& value : values) value = std::isfinite(value) ? std::clamp(value, -kBound, kBound) : -kBound;
  const Open open = keep_room(view, asked, rows, inputs, options.mask);
  if (auto wait = may_wait(view, asked, rows, open, values, inputs, context)) {
    defer(advice, by, std::move(*wait));
    record_candidates(advice, rows, predictions, residual, {}, open.losses);
    advice.predictions = std::move(predictions);
    return advice;
  }
  const ValueRange range = range_of(open.rows, values);
  const bool keeps_room = open.rows.size() < rows.feasible.size();
  Choice choice;
  std::vector<std::int64_t> scores;
  const auto bound = std::find_if(rows.feasible.begin(), rows.feasible.end(), [&](std::size_t row) {
    return !asked.node_name.empty() && view.nodes[rows.node[row]].name == asked.node_name;
  });
  if (bound != rows.feasible.end()) {
    choice = {*bound, 1.0, false};
    scores.assign(rows.node.size(), 0);
    scores[*bound] = kTopScore;
    record.reason = "already bound there";
    record.decided_by = decided_by(by, Verdict::bound);
  } else if (open.rows.size() > 1 && !keeps_room && !rows.avoids && !range.distinguishes()) {
    record.reason = equal_reason(by, rows.feasible.size());
    record.decided_by = decided_by(by, Verdict::neutral);
    record_candidates(advice, rows, predictions, residual, {}, open.losses);
    advice.predictions = std::move(predictions);
    return advice;
  } else {
    choice = choose(open.rows, values, range, epsilon, options.safe_margin, random);
    scores = scores_of(open.rows, rows.node.size(), values, range, choice.row, asked.score_limit);
    by.keeps_plan =
        with_network && plan && plan->pick == rows.node[choice.row] &&
        std::any_of(open.rows.begin(), open.rows.end(), [&](std::size_t row) { return q[row] > q[choice.row]; });
    record.reason = reason_of(by, choice.explored);
    if (keeps_room) record.reason += kept_room(rows.feasible.size() - open.rows.size(), record.next_pods);
    if (plan && plan->avoided && *plan->avoided != rows.node[choice.row])
      record.reason +=
          "; not " + view.nodes[*plan->avoided].name + ", where this pod and others would slow each other down";
    record.reason += preference_note(asked);
    record.decided_by = decided_by(by, choice.explored ? Verdict::explored : Verdict::best);
  }
  record_candidates(advice, rows, predictions, residual, scores, open.losses);
  advice.predictions = std::move(predictions);
  const auto top = std::find(advice.row_of.begin(), advice.row_of.end(), choice.row);
  advice.top = static_cast<std::size_t>(top - advice.row_of.begin());
  record.advice = advice.candidates[*advice.top];
  record.propensity = choice.propensity;
  record.explored = choice.explored;
  return advice;
}

}  // namespace wattle::placement
