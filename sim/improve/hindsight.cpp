#include "sim/improve/hindsight.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/frozen/frozen_network.hpp"
#include "placement/decide/policies/cost.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/env/statistics.hpp"
#include "sim/improve/fleet_run.hpp"
#include "sim/improve/told_cluster.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

// Planner and networks in turn, an hour each, so that the curves of all nodes that any of them wakes become known.
class InTurn final : public placement::Policy {
 public:
  InTurn(std::span<const std::shared_ptr<const models::QNetwork>> networks, double margin)
      : Policy(placement::parse_policy("planner").value()), planner_(info()) {
    placement::NetworkOptions options;
    options.margin = margin;
    for (const auto& network : networks) networks_.emplace_back(network, options);
  }
  void score(placement::PolicyContext& context, std::span<double> values) override {
    in_turn(context).score(context, values);
  }
  std::optional<std::size_t> choose(placement::PolicyContext& context) override {
    return in_turn(context).choose(context);
  }

 private:
  placement::Policy& in_turn(placement::PolicyContext& context) {
    const std::size_t hour = static_cast<std::size_t>(context.fleet().now_s / 3600) % (1 + networks_.size());
    return hour == 0 ? static_cast<placement::Policy&>(planner_) : networks_[hour - 1];
  }

  placement::PlannerPolicy planner_;
  std::vector<placement::NetworkPolicy> networks_;
};

// Takes the curves as fitted at the end of the day.
void take_fitted_curves(const Episode& lived, placement::Policy& policy, Episode& record) {
  Cluster cluster(lived);
  for (std::size_t p = 0; p < lived.pods.size(); ++p) {
    cluster.advance_to(lived.pods[p].arrives_s);
    if (const auto node = placement::choose(policy, cluster.fleet(), cluster.ask(p))) cluster.place(p, *node);
  }
  for (std::size_t i = 0; i < record.servers.size(); ++i) record.servers[i].watts = cluster.fleet().nodes[i].watts;
}

}  // namespace

Episode recorded(const Episode& lived, std::span<const std::shared_ptr<const models::QNetwork>> beside, double margin) {
  Episode record = lived;
  record.options.shift = {};
  if (lived.options.knowledge == ClusterModel::imitated) {
    InTurn policy(beside, margin);
    take_fitted_curves(lived, policy, record);
    record.options.knowledge = ClusterModel::pods;  // the model's curves are known and not fitted again
  }
  return record;
}

Episode reordered(const Episode& day, std::uint64_t order) {
  Episode other = day;
  if (order == 0) return other;
  other.seed = mix(day.seed, order);
  Random random(mix(other.seed, 0x6f72646572ULL));
  for (std::size_t k = other.pods.size(); k > 1; --k) {
    Pod &a = other.pods[k - 1], &b = other.pods[pick(random, k)];
    std::swap(a, b);
    std::swap(a.arrives_s, b.arrives_s);
  }
  return other;
}

std::size_t days_to_judge(std::size_t recorded) {
  const std::size_t quarter = std::max<std::size_t>(1, recorded / 4);
  return recorded < 2 * stats::kLeastSeeds ? quarter : std::max(stats::kLeastSeeds, quarter);
}

std::vector<Episode> days_to_play(std::span<const Episode> recorded_days, std::size_t plays) {
  std::vector<Episode> days;
  for (std::size_t k = 0; k < plays; ++k)
    days.push_back(reordered(recorded_days[k % recorded_days.size()], k / recorded_days.size()));
  return days;
}

PlayedDays play_days(std::span<const Episode> days, const Network& network, const placement::NetworkOptions& options) {
  PlayedDays played;
  for (const Episode& day : days) {
    placement::PlannerPolicy planner(placement::parse_policy("planner").value());
    placement::NetworkPolicy by_network(network, options);
    FleetRun figures = play_fleet(day, network ? static_cast<placement::Policy&>(by_network) : planner);
    played.energy_j.push_back(figures.energy_j);
    played.node_energy_j.push_back(std::move(figures.node_energy_j));
  }
  return played;
}

Interval energy_over(const PlayedDays& played, const PlayedDays& base, std::size_t recorded_days) {
  std::vector<double> of_played(recorded_days), of_base(recorded_days);
  for (std::size_t k = 0; k < played.energy_j.size(); ++k) {
    of_played[k % recorded_days] += played.energy_j[k];
    of_base[k % recorded_days] += base.energy_j[k];
  }
  return paired_ratio(of_played, of_base);
}

Result<Learned> learn_of_labels(std::span<const Episode> days, std::span<const Label> labels, const Network& start,
                                const HindsightOptions& options, models::PolicyTrainer& trainer) {
  Learned best;
  double least_j = -1;
  std::size_t passes = 0;
  const auto consider = [&](const Network& network) {
    const double all_j = mean(play_days(days, network, options.network).energy_j);
    if (least_j >= 0 && all_j >= least_j) return;
    least_j = all_j;
    best = {trainer.weights(), passes};
  };
  consider(start);
  ImitateOptions watched = options.imitate;
  watched.anchor = start;
  watched.on_pass = [&]() -> Status {
    ++passes;
    WATTLE_TRY(Network network, models::FrozenNetwork::from_weights(trainer.weights(), trainer.steps()));
    consider(network);
    return {};
  };
  if (!labels.empty()) WATTLE_CHECK(imitate(labels, watched, trainer));
  return best;
}

Serves who_serves(const Interval& learned_over_start, const Interval& learned_over_planner,
                  const Interval& start_over_planner) {
  const bool start_may = start_over_planner.below_zero();
  if (learned_over_planner.below_zero() && (learned_over_start.below_zero() || !start_may)) return Serves::learned;
  return start_may ? Serves::start : Serves::planner;
}

Result<Hindsight> learn_by_hindsight(std::span<const Episode> lived,
                                     const std::shared_ptr<const models::QNetwork>& start,
                                     const HindsightOptions& options, models::PolicyTrainer& trainer) {
  if (lived.size() < 2)
    return fail(Errc::out_of_range, "hindsight", "has no day left for the evaluation", "at least two days");
  const std::size_t gate_days = days_to_judge(lived.size());
  const auto taught = lived.first(lived.size() - gate_days), judged = lived.last(gate_days);
  std::vector<Episode> model;
  std::vector<Label> labels;
  for (const Episode& day : taught) {
    model.push_back(recorded(day, std::span(&start, 1), options.network.margin));
    std::vector<Label> more = judge_episode(model.back(), options.labels, start);
    std::move(more.begin(), more.end(), std::back_inserter(labels));
  }
  Hindsight out;
  out.labels = labels.size();
  WATTLE_TRY(Learned best, learn_of_labels(days_to_play(model, options.plays), labels, start, options, trainer));
  out.weights = std::move(best.weights);
  out.passes = best.passes;
  WATTLE_TRY(Network learned, models::FrozenNetwork::from_weights(out.weights, 0));
  model.clear();
  const std::array beside{start, learned};
  for (const Episode& day : judged) model.push_back(recorded(day, beside, options.network.margin));
  const std::vector<Episode> days = days_to_play(model, std::max(options.plays, gate_days));
  const auto play = [&](const Network& network) { return play_days(days, network, options.network); };
  const PlayedDays by_planner = play(nullptr), by_start = play(start), by_learned = play(learned);
  out.learned_over_start = energy_over(by_learned, by_start, gate_days);
  out.learned_over_planner = energy_over(by_learned, by_planner, gate_days);
  out.start_over_planner = energy_over(by_start, by_planner, gate_days);
  out.serves = who_serves(out.learned_over_start, out.learned_over_planner, out.start_over_planner);
  return out;
}

}  // namespace wattle::sim::consolidation
