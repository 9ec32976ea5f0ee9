// adapt: tests whether a network that continues to learn on one cluster places better there.
// Play     each cluster (servers and applications of one seed, on the reporting side) runs for some days of one demand
//          day, and is then evaluated greedily on days of another: planner, the original network, the network that
//          continued from it (anchored, and optionally free), and one that began from scratch; same pods for all
// Known    days run and are evaluated in a World, and each contestant has the knowledge of the last day of learning (or
//          none: cold)
// Recorded the result of wattle-sim improve for the days as a record (sim/improve/improve), by its own verdict;
//          guarded: judged by measured blocks
// Errors   forwards the trainers'; out_of_range: not churn, or one demand day only
// Threads  single owner; the same options give the same bytes
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/ablations/online.hpp"
#include "models/frozen/trainer.hpp"
#include "sim/env/statistics.hpp"
#include "sim/improve/hindsight.hpp"

namespace wattle::sim::consolidation {

struct AdaptOptions {
  OnlineOptions online;  // episodes: number of days; seeds and anchor are set here
  std::uint64_t first_cluster = 0;
  std::size_t clusters = 10, judged_days = 2;
  HindsightOptions hindsight;
  Side side = Side::report;
  models::Weights start;
  double margin = 0;
  bool cold = false;  // evaluated days begin without knowledge
  std::vector<std::string> contestants{"planner", "start", "online", "scratch"};  // also "free", "guarded", "recorded"
};
// Makes a trainer that continues from weights, or starts from scratch.
using MakeTrainer =
    std::function<Result<std::unique_ptr<models::PolicyTrainer>>(const std::optional<models::Weights>&)>;

struct AdaptRow {
  std::string name;
  std::vector<double> energy_j;  // per cluster, over the evaluated days; with pairs, per core-second of work
  std::optional<Interval> over_planner, over_start;  // energy ratio minus 1
  // Per cluster: share of time that pods waited for CPU, from the second hour of the evaluated days on, and
  // its limit.
  std::vector<double> waiting, wait_limit;
  std::array<std::size_t, 3> serves{};  // for "recorded": clusters in which planner, start, learned served
  // For "recorded", per cluster: the intervals of learned over start, learned over planner, start over planner.
  std::vector<std::array<Interval, 3>> gate;
};
struct AdaptResult {
  std::vector<std::uint64_t> clusters;
  std::vector<AdaptRow> rows;
  std::uint64_t decisions = 0;  // experienced by a learning network, mean over clusters
};

using AdaptProgress = std::function<void(double done, const std::string& next)>;
Result<AdaptResult> adapt(const Dataset& data, const AdaptOptions& options, const MakeTrainer& make,
                          const AdaptProgress& progress = {});

}  // namespace wattle::sim::consolidation
