#include "placement/sleep/drain_search.hpp"

#include <algorithm>
#include <cmath>

#include "placement/sleep/plan_text.hpp"
#include "placement/sleep/rest_check.hpp"

namespace wattle::placement::sleep {

namespace {

class DrainSearch {
 public:
  DrainSearch(PlanState& state, std::vector<KeptAwake>& kept) : state_(state), kept_(kept) {
    for (const SleepNode& node : state.in.nodes) pods_ += node.pods.size();
  }
  // Returns the choice, or adds the reason against it and restores the state.
  std::optional<SleepChoice> drain(std::size_t row);

 private:
  Exclusion rest(const SleepNode& node) const {
    const SleepInputs& in = state_.in;
    for (const SleepPod& pod : node.pods)
      if (Exclusion why = in.ledger->rests(pod.uid, pod.owner, in.now, state_.config.moves)) return why;
    return {};
  }
  // Time until the pods have moved at the hourly share, or ended by themselves.
  double lasts_s(const SleepNode& node) const {
    const MoveLimits& limits = state_.config.moves;
    const double pods = static_cast<double>(node.pods.size());
    const double per_hour = std::max(1.0, std::floor(limits.moves_ratio * static_cast<double>(pods_)));
    double life_s = 0;
    for (const SleepPod& pod : node.pods) life_s += pod.estimate.life_s / pods;
    const double moved_s = 3600 * std::max(0.0, pods - static_cast<double>(left())) / per_hour;
    return std::isfinite(life_s) && life_s > 0 ? std::min(moved_s, last_ends_in_s(life_s, node.pods.size())) : moved_s;
  }
  std::size_t left() const { return state_.in.ledger->moves_left(pods_, state_.in.now, state_.config.moves); }
  double fleet_w() const {
    double sum_w = 0;
    for (std::size_t row = 0; row < state_.fleet.nodes.size(); ++row) sum_w += state_.watts(row);
    return sum_w;
  }
  void keep(std::size_t row, Exclusion why) { kept_.push_back({row, state_.node(row).name, std::move(why)}); }

  PlanState& state_;
  std::vector<KeptAwake>& kept_;
  std::size_t pods_ = 0;  // of the cluster
};

std::optional<SleepChoice> DrainSearch::drain(std::size_t row) {
  const SleepNode& node = state_.node(row);
  const SleepConfig& config = state_.config;
  const double drain_s = lasts_s(node);
  const RestCheck check = check_rest(state_, row, drain_s);
  if (check.why) return keep(row, check.why), std::nullopt;
  if (Exclusion why = rest(node)) return keep(row, std::move(why)), std::nullopt;
  if (left() == 0) return keep(row, {ExcludedFor::rate, "the limit of moved pods per hour is reached"}), std::nullopt;
  if (drain_s > seconds(config.longest_drain))
    return keep(row, {ExcludedFor::rate, "to empty it at the allowed pace takes " + time_text(drain_s)}), std::nullopt;

  const double before_w = fleet_w();
  std::vector<std::pair<std::size_t, const PodEstimate*>> placed;
  const auto undo = [&] {
    for (const auto& [target, estimate] : placed) state_.reserve(target, *estimate, -1);
    for (const SleepPod& pod : node.pods) state_.reserve(row, pod.estimate);
  };
  SleepChoice choice{row, node.name, node.facts.depth, {}, check.gap_s, check.break_even_s, 0, {}};
  std::vector<const SleepPod*> largest_first;
  for (const SleepPod& pod : node.pods) {
    largest_first.push_back(&pod);
    state_.reserve(row, pod.estimate, -1);
  }
  std::stable_sort(largest_first.begin(), largest_first.end(), [](const SleepPod* a, const SleepPod* b) {
    return a->estimate.request.cpu_cores > b->estimate.request.cpu_cores;
  });
  for (const SleepPod* pod : largest_first) {
    const std::optional<std::size_t> target = state_.place(pod->uid, pod->estimate, row);
    if (!target) {
      undo();
      return keep(row, {ExcludedFor::no_target, "pod " + pod->name + " fits on no other awake node"}), std::nullopt;
    }
    placed.emplace_back(*target, &pod->estimate);
    choice.moves.push_back({pod->uid, pod->name, pod->owner, state_.node(*target).name, pod->estimate.request});
  }
  // The other nodes are fuller now, so the loss of one needs more spare capacity.
  if (RestCheck after = check_rest(state_, row, drain_s); after.why) {
    undo();
    return keep(row, std::move(after.why)), std::nullopt;
  }
  // fleet_w() counts the emptied node as idle: its sleep saves the idle watts, and the moves save the difference.
  const auto moves = static_cast<double>(choice.moves.size());
  choice.saved_j = saved_j(state_.cost(row), state_.idle_w(row), check.gap_s) + (before_w - fleet_w()) * check.gap_s -
                   moves * config.move_j;
  if (!(choice.saved_j >= config.least_j_per_move * moves)) {
    undo();
    return keep(row, {ExcludedFor::saving, "to empty it saves " + joules_text(choice.saved_j / moves) +
                                               " per moved pod, less than " + joules_text(config.least_j_per_move)}),
           std::nullopt;
  }
  choice.reason = "its " + std::to_string(choice.moves.size()) + " pods fit elsewhere; not needed for " +
                  time_text(check.gap_s) + ", pays off after " + time_text(check.break_even_s);
  return choice;
}

}  // namespace

std::optional<SleepChoice> search_drain(PlanState& state, std::vector<std::size_t> rows, std::vector<KeptAwake>& kept) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return state.node(a).order > state.node(b).order; });
  DrainSearch search(state, kept);
  std::optional<SleepChoice> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!chosen && i < kTriedDrains) {
      chosen = search.drain(rows[i]);
      continue;
    }
    kept.push_back({rows[i],
                    state.node(rows[i]).name,
                    {ExcludedFor::has_pods, "it has " + std::to_string(state.node(rows[i]).pods.size()) +
                                                " pods, and other nodes are emptied first"}});
  }
  return chosen;
}

}  // namespace wattle::placement::sleep
