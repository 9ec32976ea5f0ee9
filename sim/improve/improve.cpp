#include "sim/improve/improve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
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

namespace {

constexpr std::size_t kLeastHours = 6;                // per node, needed to scale its curve
constexpr double kLeastRatio = 0.25, kMostRatio = 4;  // a ratio outside has another cause than the curve

// Joules of each node in each hour with the real placements: [hour][node].
std::vector<std::vector<double>> as_it_was_j(const RecordedDay& day) {
  return play_hours(day.episode,
                    [&](Cluster&, std::size_t pod) {
                      return day.node_of[pod] == ClusterRecord::kNoNode ? std::nullopt
                                                                        : std::optional(day.node_of[pod]);
                    })
      .node_j;
}

struct Sums {
  double measured_j = 0, modelled_j = 0;
  std::size_t hours = 0;
};

}  // namespace

Calibration calibrate(const ClusterRecord& record, std::span<const RecordedDay> days, std::size_t learned) {
  std::vector<Sums> fit(record.nodes.size()), check(record.nodes.size());
  Calibration out;
  std::map<double, std::vector<const RecordedHour*>> by_hour;
  for (const RecordedHour& hour : record.hours) by_hour[hour.from_s].push_back(&hour);
  for (std::size_t d = 0; d < days.size(); ++d) {
    const auto modelled = as_it_was_j(days[d]);
    for (std::size_t h = 0; h < modelled.size(); ++h) {
      const auto measured = by_hour.find(days[d].from_s + static_cast<double>(h) * kHour_s);
      if (measured == by_hour.end()) continue;
      for (const RecordedHour* hour : measured->second) {
        Sums& sums = (d < learned ? fit : check)[hour->node];
        sums.measured_j += hour->measured_j;
        sums.modelled_j += modelled[h][hour->node];
        ++sums.hours;
        ++out.measured_hours;
      }
    }
  }
  double error2_j2 = 0, all_j2 = 0;
  for (std::size_t i = 0; i < record.nodes.size(); ++i) {
    const bool known = fit[i].hours >= kLeastHours && fit[i].modelled_j > 0;
    out.node_ratio.push_back(known ? std::clamp(fit[i].measured_j / fit[i].modelled_j, kLeastRatio, kMostRatio) : 1.0);
    if (!known || check[i].hours == 0) continue;
    error2_j2 += std::pow(check[i].measured_j - out.node_ratio[i] * check[i].modelled_j, 2);
    all_j2 += std::pow(check[i].measured_j, 2);
  }
  if (all_j2 > 0) out.node_error = std::sqrt(error2_j2 / all_j2);
  return out;
}

Result<CalibratedDays> calibrated_days(const ClusterRecord& record, const ImproveOptions& options,
                                       const std::string& subject) {
  CalibratedDays out;
  WATTLE_TRY(out.recorded, days_of(record, options.days, subject));
  const std::size_t days = out.recorded.days.size();
  out.learned = days - days_to_judge(days);
  out.calibration = calibrate(record, out.recorded.days, out.learned);
  for (RecordedDay& day : out.recorded.days)
    for (std::size_t i = 0; i < day.episode.servers.size(); ++i)
      for (double& watts : day.episode.servers[i].watts) watts *= out.calibration.node_ratio[i];
  return out;
}

std::vector<Label> judge_day(const CalibratedDays& days, std::size_t day, const LabelOptions& options,
                             const Network& start) {
  const Episode& episode = days.recorded.days[day].episode;
  LabelOptions of_day = options;
  // The horizon of a choice leaves at least half of the measured time for judged decisions.
  const double most_s = (episode.end_s - episode.measure_from_s) / 2;
  of_day.horizon_lives = std::min(options.horizon_lives, most_s / episode.options.life_s);
  return judge_episode(episode, of_day, start);
}

Interval widened(const Interval& interval, const PlayedDays& a, const PlayedDays& b, double node_error) {
  std::vector<double> moved_j(b.node_energy_j.empty() ? 0 : b.node_energy_j.front().size());
  double all_j = 0;
  for (std::size_t day = 0; day < b.energy_j.size(); ++day) {
    all_j += b.energy_j[day];
    for (std::size_t i = 0; i < moved_j.size(); ++i) moved_j[i] += a.node_energy_j[day][i] - b.node_energy_j[day][i];
  }
  double moved2_j2 = 0;
  for (const double each : moved_j) moved2_j2 += each * each;
  const double unexplained = 1.96 * node_error * std::sqrt(moved2_j2) / std::max(all_j, 1e-9);
  Interval wide = interval;
  wide.low = interval.mean - std::hypot(interval.mean - interval.low, unexplained);
  wide.high = interval.mean + std::hypot(interval.high - interval.mean, unexplained);
  return wide;
}

Result<Improvement> improve(const CalibratedDays& days, std::span<const Label> labels, const Network& start,
                            const HindsightOptions& options, models::PolicyTrainer& trainer) {
  std::vector<Episode> taught, judged;
  for (std::size_t d = 0; d < days.recorded.days.size(); ++d)
    (d < days.learned ? taught : judged).push_back(days.recorded.days[d].episode);
  Improvement out;
  out.labels = labels.size();
  out.judged_days = judged.size();
  WATTLE_TRY(Learned best, learn_of_labels(days_to_play(taught, options.plays), labels, start, options, trainer));
  out.weights = std::move(best.weights);
  out.passes = best.passes;
  WATTLE_TRY(Network learned, models::FrozenNetwork::from_weights(out.weights, 0));
  const auto plays = days_to_play(judged, std::max(options.plays, judged.size()));
  out.plays = plays.size();
  const PlayedDays planner_days = play_days(plays, nullptr, options.network),
                   start_days = play_days(plays, start, options.network),
                   learned_days = play_days(plays, learned, options.network);
  const auto over = [&](const PlayedDays& a, const PlayedDays& b) {
    return widened(energy_over(a, b, judged.size()), a, b, days.calibration.node_error);
  };
  out.learned_over_start = over(learned_days, start_days);
  out.learned_over_planner = over(learned_days, planner_days);
  out.start_over_planner = over(start_days, planner_days);
  out.serves = who_serves(out.learned_over_start, out.learned_over_planner, out.start_over_planner);
  return out;
}

}  // namespace wattle::sim::consolidation
