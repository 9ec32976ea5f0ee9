#include "lab/ablations/adapt.hpp"

#include <algorithm>
#include <cmath>

#include "lab/ablations/lived_record.hpp"
#include "lab/bench/bench.hpp"
#include "lab/bench/live_run.hpp"
#include "models/frozen/frozen_network.hpp"
#include "sim/improve/improve.hpp"

namespace wattle::sim::consolidation {

namespace {

// Seeds of a cluster's days: even ones use the first demand day, odd ones the second.
constexpr std::uint64_t kDaysOfCluster = 1000;

class Adapt {
 public:
  Adapt(const Dataset& data, const AdaptOptions& options, const MakeTrainer& make)
      : data_(data), options_(options), make_(make) {}

  // Returns the joules of a contestant over the cluster's evaluated days, with pairs per core-second of work.
  Result<double> judge(AdaptRow& row, std::uint64_t cluster) {
    std::shared_ptr<const models::QNetwork> network;
    if (row.name == "recorded") {
      WATTLE_TRY(network, grown_of_record(row, cluster));
    } else if (row.name != "planner") {
      WATTLE_TRY(network, grown(row.name, cluster));
    }
    const Episode taught =
        make_episode(data_, episode_of(cluster), cluster * kDaysOfCluster + 2 * (options_.online.episodes - 1));
    Contestant contestant{row.name, Binding::advised, network ? "dqn" : "planner", network.get()};
    contestant.measured = row.name == "guarded";
    double energy_j = 0, work_core_s = 0, waiting = 0, limit = 0;
    for (std::size_t day = 0; day < options_.judged_days; ++day) {
      const Episode episode = make_episode(data_, episode_of(cluster), cluster * kDaysOfCluster + 1 + 2 * day);
      LiveRunOptions options;
      options.network.margin = options_.margin;
      WATTLE_TRY(const RunFigures judged, run_live(episode, options_.cold ? nullptr : &taught, contestant, options));
      energy_j += judged.energy_j;
      work_core_s += judged.work_core_s;
      waiting += waited_from_second_hour(judged).value_or(0) / static_cast<double>(options_.judged_days);
      limit = judged.wait_limit;
    }
    row.waiting.push_back(waiting);
    row.wait_limit.push_back(limit);
    return by_work() ? energy_j / work_core_s : energy_j;
  }
  std::uint64_t decisions() const { return decisions_; }
  bool by_work() const { return options_.online.episode.shift.pairs > 0; }

 private:
  // Returns the result of `wattle-sim improve` for the past days in the form of a controller's record. Null: the
  // planner serves.
  Result<Network> grown_of_record(AdaptRow& row, std::uint64_t cluster) {
    WATTLE_TRY(const Network start, frozen(options_.start));
    std::vector<Episode> lived;
    for (std::size_t day = 0; day < options_.online.episodes; ++day)
      lived.push_back(make_episode(data_, replayed_of(cluster), cluster * kDaysOfCluster + 2 * day));
    const std::string subject = "record of cluster " + std::to_string(cluster);
    WATTLE_TRY(const ClusterRecord record, parse_cluster_record(lived_record(lived), subject));
    ImproveOptions improving;
    improving.days.idle_nodes_sleep = options_.online.episode.sleep;
    // A lived day that is shorter than the record's days is a whole day of it.
    improving.days.day_s = std::min(improving.days.day_s, kHour_s * std::floor(lived.front().end_s / kHour_s));
    improving.hindsight = options_.hindsight;
    improving.hindsight.network.margin = options_.margin;
    WATTLE_TRY(const CalibratedDays days, calibrated_days(record, improving, subject));
    std::vector<Label> labels;
    for (std::size_t day = 0; day < days.learned; ++day)
      for (Label& label : judge_day(days, day, improving.hindsight.labels, start)) labels.push_back(std::move(label));
    WATTLE_TRY(const auto trainer, make_(options_.start));
    WATTLE_TRY(const Improvement found, improve(days, labels, start, improving.hindsight, *trainer));
    decisions_ = record.pods.size();
    ++row.serves.at(static_cast<std::size_t>(found.serves));
    row.gate.push_back({found.learned_over_start, found.learned_over_planner, found.start_over_planner});
    if (found.serves == Serves::planner) return Network();
    return found.serves == Serves::start ? start : frozen(found.weights);
  }
  static Result<std::shared_ptr<const models::QNetwork>> frozen(const models::Weights& weights) {
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights, 0));
    return std::shared_ptr<const models::QNetwork>(std::move(network));
  }
  Options episode_of(std::uint64_t cluster) const {
    Options episode = options_.online.episode;
    episode.side = options_.side;
    episode.cluster_seed = cluster;
    return episode;
  }
  // A day as a record has it: real curves, and pods that are known by application.
  Options replayed_of(std::uint64_t cluster) const {
    Options episode = episode_of(cluster);
    episode.cluster_model = ClusterModel::pods;
    return episode;
  }
  Result<std::shared_ptr<const models::QNetwork>> grown(const std::string& name, std::uint64_t cluster) {
    models::Weights weights = options_.start;
    if (name == "guarded" && online_cluster_ == cluster) {
      weights = online_weights_;
    } else if (name != "start") {
      WATTLE_TRY(const auto anchor, models::FrozenNetwork::from_weights(options_.start, 0));
      OnlineOptions online = options_.online;
      online.episode = episode_of(cluster);
      online.first_seed = cluster * kDaysOfCluster;
      online.seed_step = 2;
      if (name != "free" && name != "scratch") online.anchor = anchor;
      const bool begins = name == "scratch";
      WATTLE_TRY(const auto trainer, make_(begins ? std::nullopt : std::optional(options_.start)));
      WATTLE_TRY(const placement::LearnerFigures figures, learn_online(data_, online, *trainer));
      decisions_ = figures.placed;
      weights = trainer->weights();
      if (name == "online") {
        online_weights_ = weights;
        online_cluster_ = cluster;
      }
    }
    return frozen(weights);
  }

  const Dataset& data_;
  const AdaptOptions& options_;
  const MakeTrainer& make_;
  std::uint64_t decisions_ = 0;
  models::Weights online_weights_;
  std::optional<std::uint64_t> online_cluster_;
};

}  // namespace

Result<AdaptResult> adapt(const Dataset& data, const AdaptOptions& options, const MakeTrainer& make,
                          const AdaptProgress& progress) {
  if ((options.side == Side::report ? data.report_days : data.train_days).size() < 2)
    return fail(Errc::out_of_range, "adapt", "needs two demand days of its side", "a --trace with four days");
  AdaptResult result;
  for (const std::string& name : options.contestants) result.rows.push_back({name, {}, {}, {}, {}, {}, {}, {}});
  Adapt play(data, options, make);
  const double whole = static_cast<double>(options.clusters * options.contestants.size());
  double done = 0;
  for (std::size_t c = 0; c < options.clusters; ++c) {
    const std::uint64_t cluster = options.first_cluster + c;
    result.clusters.push_back(cluster);
    for (AdaptRow& row : result.rows) {
      if (progress) progress(done / whole, "cluster " + std::to_string(cluster) + ", " + row.name);
      WATTLE_TRY(const double energy_j, play.judge(row, cluster));
      row.energy_j.push_back(energy_j);
      done += 1;
    }
  }
  result.decisions = play.decisions();
  const auto find = [&](const char* name) {
    return std::find_if(result.rows.begin(), result.rows.end(), [&](const AdaptRow& row) { return row.name == name; });
  };
  const auto planner = find("planner"), start = find("start");
  for (AdaptRow& row : result.rows) {
    const auto over = [&](const AdaptRow& base) {
      std::vector<double> ratios;
      for (std::size_t c = 0; c < row.energy_j.size(); ++c) ratios.push_back(row.energy_j[c] / base.energy_j[c] - 1);
      return iqm_interval(std::vector<std::vector<double>>{std::move(ratios)});
    };
    if (planner != result.rows.end()) row.over_planner = over(*planner);
    if (start != result.rows.end()) row.over_start = over(*start);
  }
  return result;
}

}  // namespace wattle::sim::consolidation
