#include "sim/x8/adapt.hpp"

#include <algorithm>

#include "models/frozen/frozen_network.hpp"
#include "placement/network_rule.hpp"
#include "sim/x8/bench.hpp"

namespace wattle::sim::x8 {

namespace {

// Seeds of a cluster's days: even ones are played by the first demand day, odd ones by the second.
constexpr std::uint64_t kDaysOfCluster = 1000;

class Adapt {
 public:
  Adapt(const Dataset& data, const AdaptOptions& options, const MakeTrainer& make)
      : data_(data), options_(options), make_(make) {}

  // Joules of a contestant over the cluster's judged days.
  Result<double> judge(const std::string& name, std::uint64_t cluster) {
    std::shared_ptr<const models::QNetwork> network;
    if (name != "planner") {
      WATTLE_TRY(network, grown(name, cluster));
    }
    double energy_j = 0;
    for (std::size_t day = 0; day < options_.judged_days; ++day) {
      const Episode episode = make_episode(data_, episode_of(cluster), cluster * kDaysOfCluster + 1 + 2 * day);
      std::unique_ptr<placement::Rule> rule;
      if (network) {
        placement::NetworkRuleOptions learned;
        learned.margin = options_.margin;
        if (name == "guarded") learned.guard.emplace();
        rule = std::make_unique<placement::NetworkRule>(network, learned);
      } else {
        WATTLE_TRY(rule, placement::make_rule("planner", cluster));
      }
      energy_j += run(episode, *rule).energy_j;
    }
    return energy_j;
  }
  std::uint64_t decisions() const { return decisions_; }

 private:
  Options episode_of(std::uint64_t cluster) const {
    Options episode = options_.online.episode;
    episode.side = Side::report;
    episode.cluster_seed = cluster;
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
      if (name == "online" || name == "guarded") online.anchor = anchor;
      const bool begins = name == "scratch";
      WATTLE_TRY(const auto trainer, make_(begins ? std::nullopt : std::optional(options_.start)));
      WATTLE_TRY(const OnlineFigures figures, learn_online(data_, online, *trainer));
      decisions_ = figures.decisions;
      weights = trainer->weights();
      if (name == "online") {
        online_weights_ = weights;
        online_cluster_ = cluster;
      }
    }
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights, 0));
    return std::shared_ptr<const models::QNetwork>(std::move(network));
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
  if (data.report_days.size() < 2)
    return fail(Errc::out_of_range, "adapt", "needs two demand days for reporting", "a --trace with four days");
  AdaptResult result;
  for (const std::string& name : options.contestants) result.rows.push_back({name, {}, {}, {}});
  Adapt play(data, options, make);
  const double whole = static_cast<double>(options.clusters * options.contestants.size());
  double done = 0;
  for (std::size_t c = 0; c < options.clusters; ++c) {
    const std::uint64_t cluster = options.first_cluster + c;
    result.clusters.push_back(cluster);
    for (AdaptRow& row : result.rows) {
      if (progress) progress(done / whole, "cluster " + std::to_string(cluster) + ", " + row.name);
      WATTLE_TRY(const double energy_j, play.judge(row.name, cluster));
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

}  // namespace wattle::sim::x8
