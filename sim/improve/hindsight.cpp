#include "sim/improve/hindsight.hpp"

#include <algorithm>
#include <utility>

#include "models/frozen/frozen_network.hpp"
#include "sim/env/statistics.hpp"
#include "sim/improve/fleet_run.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

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
    FleetChooser chooser(network, options);
    FleetRun figures = play_fleet(day, chooser);
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

}  // namespace wattle::sim::consolidation
